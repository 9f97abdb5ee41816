"""Responses in pieces, sent at the client's pace, and other work that ends with the client who asked for it."""

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
"""Seconds that a client may be behind; its rows stand on a connection to the database."""
SLOWEST = 16 * 1024
"""Bytes a second that a client takes at least, on average."""


@dataclass
class Pace:
    """Patience with one client: waiting for the client uses it up, and what the client takes gives it back."""

    patience: float = PATIENCE
    slowest: int = SLOWEST

    def __post_init__(self) -> None:
        self.left = self.patience

    def waited(self, seconds: float, size: int) -> None:
        """Counts a piece of ``size`` bytes that took so many seconds to send."""
        self.left = min(self.patience, self.left - seconds + size / self.slowest)


class Export(Stream):
    """Rows in pieces; whatever ends the response closes them at once.

    Litestar's Stream ends with its client too. But it begins the response before the first piece is there, so that
    an error in it breaks the answer off; it waits for ever for a client that takes nothing; and it leaves the
    generator, with the connection that it holds, to the collector.
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
            await while_connected(receive, sending)  # an error before the first piece is answered as an error
    finally:
        await pieces.aclose()


async def _send(
    pieces: AsyncGenerator[bytes, None], response: ASGIStreamingResponse, pace: Pace, recipient: tuple[HTTPScope, Send]
) -> None:
    scope, send = recipient
    now = asyncio.get_running_loop().time
    piece = b"" if scope["method"] == "HEAD" else await anext(pieces, b"")
    await response.start_response(send)
    # an error ends the answer without the last chunk: no client takes the part that it has for the whole
    while piece:
        begun = now()
        async with asyncio.timeout(pace.left):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        pace.waited(now() - begun, len(piece))
        piece = await anext(pieces, b"")
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def while_connected(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Result of the work. Raises ClientGone, and ends the work, when the client leaves before it is done."""
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
