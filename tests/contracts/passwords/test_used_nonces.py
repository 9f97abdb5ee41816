"""Nonces: each can be used once."""

import asyncio
from datetime import timedelta

from application.ports.whole_database import WholeDatabase
from domain.scope import EveryTenant
from tests.builders import NOW

MINUTE = timedelta(minutes=1)


async def test_an_id_is_spent_once_and_another_is_another(database: WholeDatabase) -> None:
    async with database.autocommit(EveryTenant()) as tx:
        assert await tx.used_nonces.consume("a", NOW + MINUTE, NOW)
        assert not await tx.used_nonces.consume("a", NOW + MINUTE, NOW)
        assert await tx.used_nonces.consume("b", NOW + MINUTE, NOW)


async def test_an_id_is_forgotten_once_what_carried_it_has_ended(database: WholeDatabase) -> None:
    async with database.autocommit(EveryTenant()) as tx:
        for n in range(50):
            await tx.used_nonces.consume(f"old {n}", NOW + MINUTE, NOW)
        assert not await tx.used_nonces.consume("old 0", NOW + 2 * MINUTE, NOW + MINUTE - timedelta.resolution)
        assert await tx.used_nonces.consume("old 0", NOW + 2 * MINUTE, NOW + MINUTE)
        assert not await tx.used_nonces.consume("old 0", NOW + 2 * MINUTE, NOW + MINUTE)


async def test_of_many_that_spend_it_at_once_one_does(database: WholeDatabase) -> None:
    async def consume() -> bool:
        async with database.autocommit(EveryTenant()) as tx:
            return await tx.used_nonces.consume("one", NOW + MINUTE, NOW)

    assert sum(await asyncio.gather(*(consume() for _ in range(20)))) == 1
