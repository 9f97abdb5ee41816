"""Tasks that run in parallel to a block of code and end with it."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress


@asynccontextmanager
async def beside(*work: Coroutine[object, object, object]) -> AsyncIterator[None]:
    """Run each coroutine in a separate task until the block ends; then cancel the tasks and wait for them.

    If a task failed earlier, the end of the block raises its error.
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
