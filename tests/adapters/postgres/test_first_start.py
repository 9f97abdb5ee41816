"""First starts of several replicas at once on one empty database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta

import asyncpg
import pytest

from adapters.memory.clock import CountingIds, MovableClock
from adapters.memory.identity.passwords import MemoryPasswords
from adapters.postgres.database import PostgresDatabase
from application.identity.password_rules import ServicePasswordRules
from application.operations.first_start import FirstStart
from domain.entities.declaration import Registry
from domain.identity.users import SHIPPED_ROLES
from tests.conftest import NewDatabase

REPLICAS, ROUNDS = 10, 2


@asynccontextmanager
async def replica(url: str, registry: Registry, number: int) -> AsyncIterator[FirstStart]:
    clock = MovableClock()
    ids = CountingIds(clock.now() + timedelta(seconds=number))
    database = PostgresDatabase(url, registry, ids, connections=1)
    await database.open()
    try:
        yield FirstStart(database, MemoryPasswords(), ServicePasswordRules((), None), clock, ids)
    finally:
        await database.close()


@pytest.mark.parametrize("addresses", ["same", "own"])
async def test_replicas_that_start_together_on_an_empty_database_make_one_admin(
    new_database: NewDatabase, registry: Registry, addresses: str
) -> None:
    for _ in range(ROUNDS):
        url = await new_database()
        async with AsyncExitStack() as stack:
            replicas = [await stack.enter_async_context(replica(url, registry, number)) for number in range(REPLICAS)]
            emails = [f"admin{number if addresses == 'own' else ''}@example.com" for number in range(REPLICAS)]
            printed = await asyncio.gather(
                *(start.prepare(email, None) for start, email in zip(replicas, emails, strict=True))
            )
        assert len([password for password in printed if password is not None]) == 1
        connection = await asyncpg.connect(url, server_settings={"tenantry.scope": "every"})
        try:
            counted = await connection.fetchrow(
                "SELECT (SELECT count(*) FROM users) AS users, (SELECT count(*) FROM tenants) AS tenants,"
                " (SELECT count(*) FROM roles) AS roles"
            )
        finally:
            await connection.close()
        assert tuple(counted or ()) == (1, 1, len(SHIPPED_ROLES))
