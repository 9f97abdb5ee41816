"""An open stream: what waits for its client, and how it ends."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple
from uuid import UUID

from application.entities.changes.following import Interests
from application.ports.entities.changes import LogEntry
from domain.entities.changes.cursors import FeedCursor
from domain.entities.changes.seeing import SeenChange
from domain.scope import OneTenant

MOST_WAITING = 256
"""Maximum events that wait for a client."""

Ending = Literal["expired", "revoked", "behind", "moved"]
"""Why the service ends a stream; in each case the client may resume from its last cursor."""


class StreamTexts(NamedTuple):
    """Writers of the texts of a stream.

    ``event`` writes an event without its cursor, so that all streams share the text; ``cursor`` writes the cursor that
    precedes it. ``opening`` begins a stream, and ``pause`` keeps it open.
    """

    event: Callable[[LogEntry, SeenChange], bytes]
    cursor: Callable[[FeedCursor], bytes]
    opening: Callable[[FeedCursor], bytes]
    pause: Callable[[FeedCursor], bytes]
    ending: Callable[[Ending], bytes]


class StreamReader(NamedTuple):
    """The reader of a stream.

    ``issued`` are the versions under which the stream's rights hold. The stream ends at ``ends_at``, an epoch second,
    for the reason ``ends_as``.
    """

    counted_as: str
    scope: OneTenant
    interests: Interests
    issued: Mapping[str, int]
    ends_at: float
    ends_as: Ending


class OpenStream:
    """The events that wait for a client; ``at`` is the position of the last of them."""

    __slots__ = ("_pieces", "_texts", "_waiting", "_woken", "at", "ending", "reader", "sent_at")

    def __init__(self, reader: StreamReader, texts: StreamTexts, at: FeedCursor, now: float) -> None:
        self.reader = reader
        self.at = at
        self.sent_at = now
        self.ending: Ending | None = None
        self._texts = texts
        self._pieces: deque[bytes] = deque()
        self._waiting = 0
        self._woken = asyncio.Event()

    @property
    def tenant_id(self) -> UUID:
        return self.reader.scope.id

    def push(self, piece: bytes, events: int, at: FeedCursor) -> None:
        """Add a text with some events for the client. End the stream of a client with too many waiting events."""
        self.at = at
        if self.ending is not None or not piece:
            return
        if self._waiting and self._waiting + events > MOST_WAITING:
            self.end("behind")
            return
        self._waiting += events
        self._pieces.append(piece)
        self._woken.set()

    def pause(self) -> None:
        """Add a text that keeps the connection open, unless other texts wait."""
        if not self._pieces:
            self.push(self._texts.pause(self.at), 0, self.at)

    def end(self, why: Ending) -> None:
        """End the stream. The client receives no further event, because events that wait can be read again."""
        if self.ending is None:
            self.ending = why
            self._pieces.clear()
            self._pieces.append(self._texts.ending(why))
            self._woken.set()

    async def next(self) -> bytes:
        """Wait for texts, and return all of them; empty after the end."""
        while not self._pieces:
            if self.ending is not None:
                return b""
            self._woken.clear()
            await self._woken.wait()
        piece = b"".join(self._pieces)
        self._pieces.clear()
        self._waiting = 0
        return piece
