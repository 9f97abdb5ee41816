"""Tasks that run beside a block of code and end with it."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress


@asynccontextmanager
async def beside(*work: Coroutine[object, object, object]) -> AsyncIterator[None]:
    """Runs each coroutine in a task of its own until the block is left, which cancels the tasks and waits for them.

    An error that ended a task before is raised when the block is left.
    """
    tasks = [asyncio.create_task(coroutine) for coroutine in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
