"""Requests that are given up at any moment leave connections in order, and no error that nobody reads."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import suppress
from random import Random
from typing import Any

import asyncpg
import pytest

from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from domain.entities.declaration import Registry
from domain.scope import OneTenant
from tests.adapters.postgres.connection.proxy import CuttingProxy
from tests.builders import new_id
from tests.waiting import HUNG_AFTER, until

TRIES = 60


@pytest.fixture
async def unread() -> AsyncIterator[list[str]]:
    """Errors that nobody reads, as asyncio tells them to the loop."""
    loop, told = asyncio.get_running_loop(), list[str]()

    def note(_: object, context: dict[str, Any]) -> None:
        told.append(f"{context['message']}: {context.get('exception')!r}")

    before = loop.get_exception_handler()
    loop.set_exception_handler(note)
    yield told
    loop.set_exception_handler(before)


async def asked(database: PostgresDatabase, number: int) -> None:
    """A request with a scope of its own: it sets the session, or begins and ends a transaction."""
    scope = OneTenant(new_id())
    use = database.transaction(scope) if number % 2 else database.autocommit(scope)
    async with use as open_:
        await open_.connection.fetchval("SELECT pg_sleep(0.002)")


@pytest.mark.promise(
    "security, faults: a request that is given up at any moment leaves its connection in order, and no error that "
    "nobody reads"
)
async def test_cancelling_a_request_at_any_moment_leaves_no_unhandled_error(
    postgres: PostgresDatabase, database_url: str, registry: Registry, unread: list[str]
) -> None:
    """Over TCP, where the driver asks for TLS before each connection, those that cancel a statement included."""
    chance = Random(1)
    async with CuttingProxy(database_url) as proxy:
        database = PostgresDatabase(proxy.url, registry, CountingIds(), connections=4)
        await database.open()
        for _ in range(TRIES):
            tasks = [asyncio.create_task(asked(database, number)) for number in range(6)]
            with suppress(TimeoutError):
                async with asyncio.timeout(chance.random() * 0.006):
                    await asyncio.gather(*tasks)
            await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(asked(database, number) for number in range(12)))
        async with database.transaction(OneTenant(new_id())) as seen:
            left = await seen.connection.fetchval(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'"
            )
        await database.close()
    gc.collect()  # an error is told when its future is thrown away
    assert (left, unread) == (0, [])


LOCKED = """
SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'relation' AND relation = 'categories'::regclass AND pid <> pg_backend_pid()
"""


async def table_locks(database: PostgresDatabase, owner: "asyncpg.Connection[asyncpg.Record]") -> object:
    """Locks that other connections keep while nobody uses them; a migration would wait for these, for minutes."""

    async def in_use() -> int:
        return database.load().in_use

    await until(in_use, 0)
    return await owner.fetchval(LOCKED)


async def test_a_statement_that_was_prepared_and_given_up_locks_no_table(
    postgres: PostgresDatabase, database_url: str, registry: Registry, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    database = PostgresDatabase(database_url, registry, CountingIds(), connections=2)
    await database.open()
    scope, chance = OneTenant(new_id()), Random(1)

    async def ask(number: int) -> None:
        async with database.autocommit(scope) as use:
            await use.connection.fetch(f"SELECT name FROM categories WHERE id = $1 AND {number} = {number}", new_id())

    locks = []
    for number in range(TRIES):
        with suppress(TimeoutError):
            async with asyncio.timeout(chance.random() * 0.004):
                await ask(number)
        locks.append(await table_locks(database, owner))
    assert set(locks) == {0}
    await database.close()


async def test_a_statement_with_values_that_cannot_be_sent_locks_no_table(
    postgres: PostgresDatabase, database_url: str, registry: Registry, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    database = PostgresDatabase(database_url, registry, CountingIds(), connections=2)
    await database.open()
    with pytest.raises(asyncpg.DataError):
        async with database.read_only(OneTenant(new_id())) as read:
            await read.connection.fetch("SELECT name FROM categories WHERE version = $1", "two")
    assert await table_locks(database, owner) == 0
    await database.close()


@pytest.mark.promise(
    "security, faults: a request that is given up at any moment leaves its connection in order, and no error that "
    "nobody reads"
)
async def test_a_connection_that_its_request_did_not_wait_for_serves_the_next(
    postgres: PostgresDatabase, database_url: str, registry: Registry
) -> None:
    database = PostgresDatabase(database_url, registry, CountingIds(), connections=1)
    await database.open()
    for _ in range(3):
        given_up = asyncio.create_task(asked(database, 0))
        await asyncio.sleep(0)
        given_up.cancel()
        with suppress(asyncio.CancelledError):
            await given_up
        async with asyncio.timeout(HUNG_AFTER):
            await asked(database, 1)
    await database.close()
