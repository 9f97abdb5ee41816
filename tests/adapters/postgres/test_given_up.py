"""Requests that are given up at any moment leave connections in order, and no error that nobody reads."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from domain.entities.declaration import Registry
from domain.scope import OneTenant
from tests.adapters.postgres.proxy import CuttingProxy
from tests.builders import new_id
from tests.waiting import HUNG_AFTER

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


async def test_requests_that_are_given_up_at_any_moment_leave_no_error_that_nobody_reads(
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
