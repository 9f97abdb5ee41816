"""Request bodies, received with a minimum speed."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar, cast

from litestar.types import HTTPReceiveMessage, HTTPScope, Receive

from domain.errors import PayloadTooLarge

T = TypeVar("T")

KILOBYTE = 1024
IDENTITY_BODY = 16 * KILOBYTE
ENTITY_BODY = 1024 * KILOBYTE
BATCH_BODY = 8 * 1024 * KILOBYTE
PATIENCE = 10.0  # seconds for a body, plus one for every SLOWEST bytes
SLOWEST = 16 * KILOBYTE
STALLED = 30.0  # seconds to wait for the next piece of a body

DRAINED = 64 * KILOBYTE  # maximum size of an unread body; the service reads it before an early answer
DRAIN_PATIENCE = 0.5
UNKNOWN_SIZE = DRAINED + 1
LONG = 0.25
"""Seconds before a read checks that its client is connected: while typing, a user abandons earlier searches."""
BODILESS = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})


class ClientGone(Exception):
    """The client disconnected while sending its body, or broke the chunk format; the server reports no difference."""


class TooSlow(ClientGone):
    """The body arrives too slowly. Such a client would occupy a connection."""


async def client_left(receive: Receive) -> None:
    """Wait until the client disconnects; the body must have been read."""
    with suppress(ClientGone):
        while (await receive())["type"] != "http.disconnect":
            pass


async def while_asked_for(receive: Receive, work: Awaitable[T], long: float = LONG) -> T:
    """Return the result of a read.

    If the read exceeds ``long`` and the client disconnects, cancel the read and raise ClientGone. A quick read costs
    only a timer, not the two tasks of ``while_connected``.
    """
    loop, reading = asyncio.get_running_loop(), cast("asyncio.Task[Any]", asyncio.current_task())
    watching = list["asyncio.Task[None]"]()
    has_left = False

    async def watch() -> None:
        nonlocal has_left
        await client_left(receive)
        has_left = True
        reading.cancel()

    timer = loop.call_later(long, lambda: watching.append(loop.create_task(watch())))
    try:
        return await work
    except asyncio.CancelledError:
        if not has_left:
            raise
        reading.uncancel()
        raise ClientGone from None
    finally:
        timer.cancel()
        for task in watching:
            task.cancel()


class BodyReader:
    """An ASGI ``receive`` for all layers after the pipeline, with a minimum speed for the body.

    ``left`` counts the announced bytes that are still unread; the reader calls ``arrived`` after the last of them.
    ``late_at`` is the time, on the event loop's clock, from which the body is too slow; 0 before the first read.
    """

    __slots__ = ("_is_shared", "_receive", "arrived", "late_at", "left")

    def __init__(self, scope: HTTPScope, receive: Any, headers: Mapping[bytes, bytes]) -> None:
        self._receive = receive
        self.late_at = 0.0
        self._is_shared = not scope["http_version"].startswith("1")
        self.arrived: Callable[[], Awaitable[None]] | None = None
        self.left = self._announced(scope, headers)

    async def __call__(self) -> HTTPReceiveMessage:
        """Raises ClientGone, TooSlow, and the errors of ``arrived``."""
        if self.left == 0:
            return cast(HTTPReceiveMessage, await self._receive())
        now = asyncio.get_running_loop().time()
        self.late_at = self.late_at or now + PATIENCE
        try:
            async with asyncio.timeout_at(min(self.late_at, now + STALLED)):
                message = cast(HTTPReceiveMessage, await self._receive())
        except TimeoutError:
            self.left = UNKNOWN_SIZE
            raise TooSlow from None
        if message["type"] == "http.disconnect":
            self.left = UNKNOWN_SIZE
            raise ClientGone
        size = len(message.get("body", b""))
        self.late_at += size / SLOWEST
        # The announced length may be wrong: while the body continues, assume at least one more byte.
        self.left = max(self.left - size, 1) if message.get("more_body") else 0
        if self.left == 0 and self.arrived is not None:
            await self.arrived()
        return message

    async def drain(self) -> bool:
        """Read the rest of a small body; return False if the connection must be closed instead.

        A response before the end of the body closes a persistent connection, and the client may lose its next request.
        With HTTP/2, it ends only the stream.
        """
        if self.left > DRAINED or self._is_shared:
            return self._is_shared
        self.arrived = None  # the rest of the body is only discarded
        try:
            async with asyncio.timeout(DRAIN_PATIENCE):
                while self.left:
                    await self()
        except (TimeoutError, ClientGone):
            return False
        return True

    def _announced(self, scope: HTTPScope, headers: Mapping[bytes, bytes]) -> int:
        """Return the announced size of the body: 0 without a body, UNKNOWN_SIZE if not stated."""
        length = headers.get(b"content-length")
        if length is not None:
            return int(length) if length.isdigit() and len(length) < 16 else UNKNOWN_SIZE
        if b"transfer-encoding" in headers:
            return UNKNOWN_SIZE
        # An HTTP/2 request need not announce its body. For methods without a body, do not wait for one.
        return UNKNOWN_SIZE if self._is_shared and scope["method"] not in BODILESS else 0


def too_large(largest: int) -> PayloadTooLarge:
    return PayloadTooLarge(f"The body may have {largest // KILOBYTE} kB at most.")
