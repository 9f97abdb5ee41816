"""Response that sends a stream of changes as ``text/event-stream``."""

from collections.abc import AsyncGenerator, Mapping
from functools import partial
from typing import Any

from litestar.response.base import ASGIResponse
from litestar.types import Receive, Scope, Send

from adapters.http.request.body import ClientGone
from adapters.http.request.export import Export, Pace

PATIENCE = 20.0
"""Seconds for a client to read what was sent."""
HEADERS: Mapping[str, str] = {"cache-control": "no-store", "x-accel-buffering": "no"}
"""``x-accel-buffering`` keeps nginx from collecting events."""
MEDIA_TYPE = "text/event-stream"


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
