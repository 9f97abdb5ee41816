"""Lowest pace of a client that takes a file, and work that ends with the client who asked for it."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from litestar.types import Receive

from adapters.http.request.body import ClientGone

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


async def client_left(receive: Receive) -> None:
    """Returns when the client has left; the body has been read before."""
    with suppress(ClientGone):
        while (await receive())["type"] != "http.disconnect":
            pass
