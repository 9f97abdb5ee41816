"""An answer that comes in pieces: at the client's pace, ended when the client leaves, broken when it breaks."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any

from adapters.http.request.body import ClientGone, Receive

STALLED = 60.0
"""Seconds that a client may take for one piece; what it was given stands on a connection to the database."""

Send = Callable[[Any], Awaitable[None]]


async def stream(pieces: AsyncIterator[bytes], send: Send, receive: Receive) -> None:
    """Raises ClientGone, and whatever the pieces raise: then the last chunk is never sent, and no client
    takes the part that it has for the whole."""
    leaving = asyncio.ensure_future(_left(receive))
    sending = asyncio.ensure_future(_send_all(pieces, send))
    try:
        await asyncio.wait((leaving, sending), return_when=asyncio.FIRST_COMPLETED)
        if not sending.done():
            raise ClientGone
        await sending
    finally:
        leaving.cancel()
        sending.cancel()
        await asyncio.wait((leaving, sending))
        await close(pieces)


async def _send_all(pieces: AsyncIterator[bytes], send: Send) -> None:
    """A client that takes nothing for too long has left, whatever its connection says."""
    now = asyncio.get_running_loop().time
    async for piece in pieces:
        async with asyncio.timeout_at(now() + STALLED):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def close(pieces: AsyncIterator[bytes]) -> None:
    """Now, and not when the collector comes by: what the pieces hold is let go."""
    closing = getattr(pieces, "aclose", None)
    if closing is not None:
        await closing()


class Begun:
    """Pieces of which the first is there already; closing them closes the rest, begun or not."""

    def __init__(self, first: bytes, rest: AsyncGenerator[bytes, None]) -> None:
        self._first: bytes | None = first
        self._rest = rest

    def __aiter__(self) -> "Begun":
        return self

    async def __anext__(self) -> bytes:
        first, self._first = self._first, None
        return await anext(self._rest) if first is None else first

    async def aclose(self) -> None:
        await self._rest.aclose()


async def begun(pieces: AsyncGenerator[bytes, None], before: bytes = b"") -> Begun:
    """What cannot begin is an error, and no answer broken off."""
    try:
        return Begun(before + await anext(pieces, b""), pieces)
    except BaseException:
        await pieces.aclose()
        raise
