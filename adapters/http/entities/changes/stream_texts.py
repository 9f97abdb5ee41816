"""Texts of a stream of changes as ``text/event-stream``."""

import msgspec

from application.entities.changes.streams.open_stream import Ending, StreamTexts
from application.ports.entities.changes import LogEntry
from domain.entities.changes.cursors import FeedCursor, write_feed_cursor
from domain.entities.changes.seeing import SeenChange

RETRIED_AFTER = 1_000
"""Milliseconds before a client reconnects."""


def _event(entry: LogEntry, seen: SeenChange) -> bytes:
    from adapters.http.entities.changes.row_changes import row_change  # most commands do not need Litestar

    data = msgspec.json.encode(row_change(entry, seen))
    # JSON of PostgreSQL may contain line breaks between values, and a line break ends the field.
    return b"event: change\ndata: " + data.translate(None, b"\r\n") + b"\n\n"


def _cursor(cursor: FeedCursor) -> bytes:
    return b"id: " + write_feed_cursor(cursor).encode() + b"\n"


def _opening(cursor: FeedCursor) -> bytes:
    return b"retry: %d\n" % RETRIED_AFTER + _cursor(cursor) + b"\n"


def _pause(cursor: FeedCursor) -> bytes:
    # With the cursor, a client that sees few events resumes without a search through all others.
    return b":\n" + _cursor(cursor) + b"\n"


def _ending(why: Ending) -> bytes:
    # Browsers ignore events without data.
    return b"event: " + why.encode() + b"\ndata: {}\n\n"


STREAM_TEXTS = StreamTexts(event=_event, cursor=_cursor, opening=_opening, pause=_pause, ending=_ending)
