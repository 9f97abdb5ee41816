"""What the memory database promises beyond the contracts: a switch for outages, and transactions in a row."""

import asyncio

import pytest

from adapters.memory.database import MemoryDatabase
from domain.errors import ServiceUnavailable
from domain.scope import EveryTenant

SUBJECT = "user:ada"


async def count(database: MemoryDatabase) -> int:
    async with database.read_only(EveryTenant()) as read:
        return (await read.token_versions.of([SUBJECT]))[SUBJECT]


async def test_while_it_is_down_nothing_is_read_or_written(memory: MemoryDatabase) -> None:
    memory.down = True
    with pytest.raises(ServiceUnavailable):
        await count(memory)
    with pytest.raises(ServiceUnavailable):
        async with memory.transaction(EveryTenant()):
            pytest.fail("a transaction began")
    assert not await memory.is_ready()
    memory.down = False
    assert await count(memory) == 0
    assert await memory.is_ready()


async def test_what_it_could_not_commit_is_not_there(memory: MemoryDatabase) -> None:
    async def raise_and_fail() -> None:
        async with memory.transaction(EveryTenant()) as tx:
            await tx.token_versions.bump([SUBJECT])
            memory.down = True

    with pytest.raises(ServiceUnavailable):
        await raise_and_fail()
    memory.down = False
    assert await count(memory) == 0


async def test_statements_on_their_own_wait_for_transactions(memory: MemoryDatabase) -> None:
    begun = asyncio.Event()

    async def alone() -> None:
        await begun.wait()
        async with memory.autocommit(EveryTenant()) as tx:
            await tx.token_versions.bump([SUBJECT])

    async def together() -> None:
        async with memory.transaction(EveryTenant()) as tx:
            begun.set()
            for _ in range(10):
                await asyncio.sleep(0)
                await tx.token_versions.bump([SUBJECT])

    await asyncio.gather(alone(), together())
    assert await count(memory) == 11
