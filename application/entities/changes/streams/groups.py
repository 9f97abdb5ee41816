"""Streams of a tenant that follow the same rows: each event is evaluated and written once for all of them."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from application.entities.changes.evaluation import has_rules_on_rows
from application.entities.changes.following import Interests
from application.entities.changes.streams.open_stream import OpenStream, StreamReader
from application.entities.changes.streams.tail import is_at
from domain.entities.changes.cursors import FeedCursor
from domain.entities.owning import NO_LIMITS, limits_in
from domain.scope import OneTenant

EVALUATED_EVERY = 0.5
"""Minimum seconds between two evaluations of rules on other rows for one reader."""
MOST_UNSEEN = 500
"""Entries after which these rules are evaluated earlier."""
AT_ONCE = 128
"""Maximum events that are pushed together, so that a connected client is not counted as late."""


class FeedView(NamedTuple):
    """What a reader sees of the log."""

    scope: OneTenant
    interests: Interests

    @property
    def is_limited(self) -> bool:
        """Whether the reader sees only own rows of some entities."""
        return limits_in(self.scope) != NO_LIMITS


class Written(NamedTuple):
    """An event's text, and the cursor of a reader who has seen it."""

    text: bytes
    at: FeedCursor


class StreamGroup:
    """Streams with equal rights and filters; ``at`` is the position up to which events were pushed to all of them."""

    def __init__(self, reader: StreamReader, at: FeedCursor) -> None:
        self.view = FeedView(reader.scope, reader.interests)
        self.streams: set[OpenStream] = set()
        self.at = at
        self.due = 0.0
        """Time of the loop from which events may be evaluated."""
        followed = [interest.model for interest in reader.interests.values()]
        has_rules = self.view.is_limited and any(map(has_rules_on_rows, followed))
        self._pause = EVALUATED_EVERY if has_rules else 0.0

    def is_due(self, now: float, unseen: int) -> bool:
        return now >= self.due or unseen > MOST_UNSEEN

    def push(self, events: Sequence[Written], at: FeedCursor, now: float) -> None:
        """Add the events to the waiting texts of each stream; ``at`` is the position after them."""
        shared = b"".join(event.text for event in events)
        for stream in [*self.streams]:
            # A stream that has read further than the group skips what its client has.
            missing = events if is_at(self.at, stream.at) else [event for event in events if _is_new(event, stream)]
            text = shared if missing is events else b"".join(event.text for event in missing)
            stream.push(text, len(missing), at if is_at(at, stream.at) else stream.at)
            if text and stream.ending is None:
                stream.sent_at = now
        self.at, self.due = at, now + self._pause

    def __bool__(self) -> bool:
        return bool(self.streams)


def slices(events: Sequence[Written]) -> Iterable[Sequence[Written]]:
    return (events[place : place + AT_ONCE] for place in range(0, max(len(events), 1), AT_ONCE))


def _is_new(event: Written, stream: OpenStream) -> bool:
    return not is_at(stream.at, event.at)
