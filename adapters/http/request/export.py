"""Streamed responses, sent at the client's pace, and other work that ends when the client disconnects."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

from litestar.response import Stream
from litestar.response.base import ASGIResponse
from litestar.response.streaming import ASGIStreamingResponse
from litestar.types import HTTPScope, Receive, Scope, Send

from adapters.http.request.body import ClientGone, client_left

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds that a client may fall behind. The limit is short because the response occupies a database connection."""
SLOWEST = 16 * 1024
"""Minimum average speed of a reading client, in bytes per second."""


@dataclass
class Pace:
    """Remaining patience with one client: waiting reduces it, and bytes read by the client restore it."""

    patience: float = PATIENCE
    slowest: int = SLOWEST

    def __post_init__(self) -> None:
        self.left = self.patience

    def waited(self, seconds: float, size: int) -> None:
        """Record the time to send a piece of ``size`` bytes."""
        self.left = min(self.patience, self.left - seconds + size / self.slowest)


class Export(Stream):
    """Response with rows in pieces. At its end, it closes the source of the rows at once.

    Litestar's Stream also ends with its client. But it begins the response before the first piece exists, so an error
    cuts off the response. It also waits without limit for a client that does not read, and leaves the generator and its
    connection to the garbage collector.
    """

    def __init__(self, pieces: AsyncGenerator[bytes, None], pace: Pace | None = None, **options: Any) -> None:
        super().__init__(pieces, **options)
        self._pace = pace or Pace()

    def to_asgi_response(self, *args: Any, **options: Any) -> ASGIResponse:
        response = cast(ASGIStreamingResponse, super().to_asgi_response(*args, **options))
        return cast(ASGIResponse, partial(_export, response, self._pace))


async def _export(response: ASGIStreamingResponse, pace: Pace, scope: Scope, receive: Receive, send: Send) -> None:
    pieces = cast(AsyncGenerator[bytes, None], response.iterator)
    sending = _send(pieces, response, pace, (cast(HTTPScope, scope), send))
    try:
        with suppress(ClientGone):
            await while_connected(receive, sending)  # after an error before the first piece, send an error response
    finally:
        await pieces.aclose()


async def _send(
    pieces: AsyncGenerator[bytes, None], response: ASGIStreamingResponse, pace: Pace, recipient: tuple[HTTPScope, Send]
) -> None:
    scope, send = recipient
    now = asyncio.get_running_loop().time
    piece = b"" if scope["method"] == "HEAD" else await anext(pieces, b"")
    await response.start_response(send)
    # An error omits the last chunk, so that clients notice the missing rest.
    while piece:
        begun = now()
        async with asyncio.timeout(pace.left):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        pace.waited(now() - begun, len(piece))
        piece = await anext(pieces, b"")
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def while_connected(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the work; cancel it and raise ClientGone if the client disconnects first."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(client_left(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientGone
    finally:
        leaving.cancel()
        working.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)
