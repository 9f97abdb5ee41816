"""Applications that all tests of a file share."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

Opened = TypeVar("Opened")


@asynccontextmanager
async def kept_open(context: AbstractAsyncContextManager[Opened]) -> AsyncIterator[Opened]:
    """Enters and leaves the context in one task: anyio asks for that, and pytest has a task for each."""
    opened, is_over = asyncio.get_running_loop().create_future(), asyncio.Event()

    async def keep() -> None:
        async with context as entered:
            opened.set_result(entered)
            await is_over.wait()

    task = asyncio.create_task(keep())
    await asyncio.wait([task, opened], return_when=asyncio.FIRST_COMPLETED)
    if not opened.done():
        await task  # raises why it could not be opened
    try:
        yield opened.result()
    finally:
        is_over.set()
        await task
