"""The body of a request, received at a bearable pace."""

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
PATIENCE = 10.0  # seconds for a body to come, and one more for every SLOWEST bytes of it
SLOWEST = 16 * KILOBYTE
STALLED = 30.0  # seconds for its next piece, however much has come

DRAINED = 64 * KILOBYTE  # an unread body of up to this size is read before an early answer
DRAIN_PATIENCE = 0.5
UNKNOWN_SIZE = DRAINED + 1
LONG = 0.25
"""Seconds after which a read is looked after: who types a search leaves the one before."""
BODILESS = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})


class ClientGone(Exception):
    """The client left in the middle of its body, or broke the form of its chunks: the server tells both alike."""


class TooSlow(ClientGone):
    """The body does not come: who dribbles it holds a connection, and is not waited for."""


async def client_left(receive: Receive) -> None:
    """Returns when the client has left; the body has been read before."""
    with suppress(ClientGone):
        while (await receive())["type"] != "http.disconnect":
            pass


async def while_asked_for(receive: Receive, work: Awaitable[T], long: float = LONG) -> T:
    """Result of a read. Raises ClientGone, and ends the work, when it takes ``long`` and the client leaves.

    A quick read costs a timer, and not the two tasks of ``while_connected``.
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
    """An ASGI ``receive`` for everything behind the pipeline: paced while the body comes, and plain once it has come.

    ``left`` counts the bytes that were announced and not read; ``arrived`` is called once the last of these bytes has
    come. ``late_at`` is the second of the event loop from which on the body is too slow, 0 until somebody asks for the
    body.
    """

    __slots__ = ("_is_shared", "_receive", "arrived", "late_at", "left")

    def __init__(self, scope: HTTPScope, receive: Any, headers: Mapping[bytes, bytes]) -> None:
        self._receive = receive
        self.late_at = 0.0
        self._is_shared = not scope["http_version"].startswith("1")
        self.arrived: Callable[[], Awaitable[None]] | None = None
        self.left = self._announced(scope, headers)

    async def __call__(self) -> HTTPReceiveMessage:
        """Raises ClientGone while a body is awaited, TooSlow when it does not come, and what ``arrived`` raises."""
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
        # what was announced may be wrong: as long as more is said to come, something is left
        self.left = max(self.left - size, 1) if message.get("more_body") else 0
        if self.left == 0 and self.arrived is not None:
            await self.arrived()
        return message

    async def drain(self) -> bool:
        """Reads the rest of a small body; False where the connection has to be closed instead.

        A server that answers before the body was read cuts a kept connection, and now and then the client's next
        request with it. HTTP/2 ends the one stream and keeps the connection.
        """
        if self.left > DRAINED or self._is_shared:
            return self._is_shared
        self.arrived = None  # nobody uses what is only read out of the way
        try:
            async with asyncio.timeout(DRAIN_PATIENCE):
                while self.left:
                    await self()
        except (TimeoutError, ClientGone):
            return False
        return True

    def _announced(self, scope: HTTPScope, headers: Mapping[bytes, bytes]) -> int:
        """Bytes to come: 0 without a body, UNKNOWN_SIZE where their number is not said."""
        length = headers.get(b"content-length")
        if length is not None:
            return int(length) if length.isdigit() and len(length) < 16 else UNKNOWN_SIZE
        if b"transfer-encoding" in headers:
            return UNKNOWN_SIZE
        # HTTP/2 need not announce a body; what methods rarely carry is not waited for
        return UNKNOWN_SIZE if self._is_shared and scope["method"] not in BODILESS else 0


def too_large(largest: int) -> PayloadTooLarge:
    return PayloadTooLarge(f"The body may have {largest // KILOBYTE} kB at most.")
