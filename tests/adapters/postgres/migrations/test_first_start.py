"""First starts of several replicas at once on one empty database."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta

import asyncpg
import pytest

from adapters.memory.clock import CountingIds, MovableClock
from adapters.memory.identity.passwords import MemoryPasswords
from adapters.postgres.database import PostgresDatabase
from application.identity.passwords.password_rules import PasswordRules
from application.operations.first_start import FirstStart
from domain.entities.declaration import Registry
from domain.identity.users import SHIPPED_ROLES
from domain.scope import EveryTenant
from tests.conftest import NewDatabase
from tests.entrypoints.processes import ROOT
from tests.servers.databases import create_database, drop_database

pytestmark = pytest.mark.end_to_end

REPLICAS, ROUNDS = 10, 2
STARTS = int(os.environ.get("TENANTRY_TEST_STARTS", "0"))
"""How often ten processes of their own start together; ``make stress`` does it fifty times."""
FEW = 4
"""Processes that start together in every run of the tests."""


@asynccontextmanager
async def replica(url: str, registry: Registry, number: int) -> AsyncIterator[FirstStart]:
    clock = MovableClock()
    ids = CountingIds(clock.now() + timedelta(seconds=number))
    database = PostgresDatabase(url, registry, ids, connections=1)
    await database.open()
    try:
        yield FirstStart(database, MemoryPasswords(), PasswordRules((), None), clock, ids)
    finally:
        await database.close()


@pytest.mark.promise(
    "migrations, databases and replicas: Ten replicas that start together on an empty database make one admin, by one "
    "address or by their own"
)
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


async def test_a_start_locks_nothing_when_the_system_rows_exist(new_database: NewDatabase, registry: Registry) -> None:
    url = await new_database()
    async with replica(url, registry, 0) as first, replica(url, registry, 1) as second:
        await first.ensure_system()
        async with first.database.transaction(EveryTenant()) as tx:
            await tx.roles.lock_super_admins()
            async with asyncio.timeout(10):
                await second.ensure_system()


@pytest.mark.promise(
    "migrations, databases and replicas: Processes of their own that start together on an empty database all serve, "
    "and one makes the admin (make stress: ten at once, fifty times)"
)
async def test_processes_that_start_together_on_an_empty_database_all_serve(servers: tuple[str, str]) -> None:
    command = [sys.executable, "-m", "tests.adapters.postgres.migrations.starting_process"]
    for number in range(STARTS or 1):
        count = REPLICAS if STARTS else FEW
        url = await create_database(servers[0], f"tenantry_test_starts_{os.getpid()}_{number}")
        started = [
            await asyncio.create_subprocess_exec(*command, url, cwd=ROOT, stdin=PIPE, stdout=PIPE, stderr=PIPE)
            for _ in range(count)
        ]
        for process in started:
            assert process.stdout is not None
            assert (await process.stdout.readline()).strip() == b"ready"
        ended = await asyncio.gather(*(process.communicate(b"go\n") for process in started))
        assert [errors.decode() for _, errors in ended if b"Traceback" in errors] == []
        assert sorted(out.strip() for out, _ in ended) == [b"found"] * (count - 1) + [b"made"]
        await drop_database(url)
