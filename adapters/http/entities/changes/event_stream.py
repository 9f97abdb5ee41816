"""Texts of a stream of changes as ``text/event-stream``, and the response that sends them."""

from collections.abc import AsyncGenerator, Mapping
from functools import partial
from typing import Any

import msgspec
from litestar.response.base import ASGIResponse
from litestar.types import Receive, Scope, Send

from adapters.http.entities.changes.row_changes import row_change
from adapters.http.request.body import ClientGone
from adapters.http.request.export import Export, Pace
from application.entities.changes.streams.open_stream import Ending, StreamTexts
from application.ports.entities.changes import LogEntry
from domain.entities.changes.cursors import FeedCursor, write_feed_cursor
from domain.entities.changes.seeing import SeenChange

RETRIED_AFTER = 1_000
"""Milliseconds before a client reconnects."""
PATIENCE = 20.0
"""Seconds for a client to read what was sent."""
HEADERS: Mapping[str, str] = {"cache-control": "no-store", "x-accel-buffering": "no"}
"""``x-accel-buffering`` keeps nginx from collecting events."""
MEDIA_TYPE = "text/event-stream"


def _event(entry: LogEntry, seen: SeenChange) -> bytes:
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


class EventStream(Export):
    """Response with the texts of a stream. A client that reads nothing for a time loses its connection.

    Litestar's ServerSentEvent writes each event again for each client, and waits without limit for a client that does
    not read.
    """

    def __init__(self, pieces: AsyncGenerator[bytes, None]) -> None:
        super().__init__(pieces, Pace(PATIENCE), media_type=MEDIA_TYPE, headers=dict(HEADERS))

    def to_asgi_response(self, *args: Any, **options: Any) -> ASGIResponse:
        return partial(_sent, super().to_asgi_response(*args, **options))  # type: ignore[return-value]  # as in Export


async def _sent(response: ASGIResponse, scope: Scope, receive: Receive, send: Send) -> None:
    try:
        await response(scope, receive, send)
    except TimeoutError:
        # The client has gone without closing the connection.
        raise ClientGone from None
