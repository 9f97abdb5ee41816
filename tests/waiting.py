"""How long a test waits before it takes something for hung. No test says by it how quick something is."""

import asyncio
from collections.abc import Awaitable, Callable

HUNG_AFTER = 200.0
"""Seconds, many times what anything takes that is waited for: a machine may be several times slower than another."""


async def until(asked: Callable[[], Awaitable[object]], answer: object = True, pause: float = 0.02) -> None:
    """Asks again and again until the answer is this one: for what others do in their own time, and tell nobody."""
    async with asyncio.timeout(HUNG_AFTER):
        while await asked() != answer:  # noqa: ASYNC110  # see above
            await asyncio.sleep(pause)
