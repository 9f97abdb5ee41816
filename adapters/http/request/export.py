"""Responses in pieces: sent at the client's pace, ended when the client leaves, broken off when a piece fails."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from functools import partial
from typing import Any, cast

from litestar.response import Stream
from litestar.response.base import ASGIResponse
from litestar.response.streaming import ASGIStreamingResponse
from litestar.types import HTTPScope, Receive, Scope, Send

from adapters.http.request.body import ClientGone

STALLED = 60.0
"""Seconds that a client may take for one piece; its rows stand on a connection to the database."""

log = logging.getLogger(__name__)


class Export(Stream):
    """Rows in pieces; whatever ends the response closes them at once.

    Litestar's Stream ends with its client too. But it begins the response before the first piece is there, so that
    an error in it breaks the answer off; it waits for ever for a client that takes nothing; and it leaves the
    generator, with the connection that it holds, to the collector.
    """

    def __init__(self, pieces: AsyncGenerator[bytes, None], **options: Any) -> None:
        super().__init__(pieces, **options)

    def to_asgi_response(self, *args: Any, **options: Any) -> ASGIResponse:
        response = cast(ASGIStreamingResponse, super().to_asgi_response(*args, **options))
        return cast(ASGIResponse, partial(_export, response))


async def _export(response: ASGIStreamingResponse, scope: Scope, receive: Receive, send: Send) -> None:
    pieces = cast(AsyncGenerator[bytes, None], response.iterator)
    sending = asyncio.ensure_future(_send(pieces, response, cast(HTTPScope, scope), send))
    leaving = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        if sending.done():
            sending.result()  # an error before the first piece is answered as an error
    finally:
        leaving.cancel()
        sending.cancel()
        await asyncio.wait((sending, leaving))
        await pieces.aclose()


async def _send(
    pieces: AsyncGenerator[bytes, None], response: ASGIStreamingResponse, scope: HTTPScope, send: Send
) -> None:
    piece = b"" if scope["method"] == "HEAD" else await anext(pieces, b"")
    await response.start_response(send)
    try:
        while piece:
            async with asyncio.timeout(STALLED):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            piece = await anext(pieces, b"")
    except Exception as error:
        # without the last chunk no client takes the part that it has for the whole
        log.exception("answer broken off", extra={"path": scope["path"]}, exc_info=error)
        raise
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _left(receive: Receive) -> None:
    try:
        while (await receive())["type"] != "http.disconnect":
            pass
    except ClientGone:
        pass
