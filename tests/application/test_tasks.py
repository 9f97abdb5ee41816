"""Tasks beside a block end with it, whatever became of them."""

import asyncio

import pytest

from application.tasks import beside


async def test_the_end_of_the_block_ends_the_work_and_waits_for_it() -> None:
    begun, cleaned = asyncio.Event(), []

    async def work(name: str) -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # cleaning takes a turn of the loop
            cleaned.append(name)

    async with beside(work("first"), work("second")):
        await begun.wait()
        assert cleaned == []
    assert sorted(cleaned) == ["first", "second"]


async def test_an_error_of_the_work_is_raised_at_the_end_of_the_block() -> None:
    ended = asyncio.Event()

    async def fails() -> None:
        raise ValueError("the work is wrong")

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    reached = []

    async def block() -> None:
        async with beside(fails(), waits()):
            await asyncio.sleep(0)
            reached.append("the end")

    with pytest.raises(ValueError, match="the work is wrong"):
        await block()
    assert reached == ["the end"]
    async with asyncio.timeout(5):
        await ended.wait()


async def test_an_error_of_the_block_ends_the_work() -> None:
    cancelled = asyncio.Event()

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def block() -> None:
        async with beside(waits()):
            await asyncio.sleep(0)
            raise ValueError("the block is wrong")

    with pytest.raises(ValueError, match="the block"):
        await block()
    assert cancelled.is_set()
