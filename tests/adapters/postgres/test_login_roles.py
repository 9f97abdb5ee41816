"""The role that the service logs in as: what no statement gets past, and how it is made."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import pytest

from adapters.memory.clock import CountingIds
from adapters.postgres.connection.login_roles import ensure_login_role, login_role
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.pending import applied_versions, pending
from adapters.postgres.schema.row_security import ROLE
from application.ports.entities.records import Act, NewRow
from domain.entities.declaration import Registry
from domain.scope import EveryTenant, OneTenant
from tests.builders import NOW, new_id, tenant

HERE, THERE = OneTenant(new_id()), OneTenant(new_id())
LEAVING = [
    "SELECT set_config('role', 'none', false)",
    "SELECT set_config('role', session_user, false)",
    "SELECT set_config('role', (SELECT rolname FROM pg_roles WHERE rolsuper LIMIT 1), false)",
    "RESET ROLE",
    "SET SESSION AUTHORIZATION DEFAULT",
]


@pytest.fixture
async def plain_url(database_url: str, owner: "asyncpg.Connection[asyncpg.Record]") -> AsyncIterator[str]:
    """URL of a role that does not exist yet, and is dropped after the test."""
    name, parts = f"tenantry_plain_{uuid4().hex[:12]}", urlsplit(database_url)
    yield parts._replace(netloc=f"{name}:open%20sesame@{parts.netloc.rpartition('@')[2]}").geturl()
    await owner.execute(f'DROP ROLE IF EXISTS "{name}"')


@pytest.fixture
async def plain(
    postgres: PostgresDatabase, registry: Registry, database_url: str, plain_url: str
) -> AsyncIterator[PostgresDatabase]:
    """The service on a plain login role, with a category in each of two tenants."""
    await ensure_login_role(database_url, plain_url)
    database = PostgresDatabase(plain_url, registry, CountingIds(), connections=2)
    await database.open()
    for scope in (HERE, THERE):
        async with database.transaction(EveryTenant()) as tx:
            await tx.tenants.add(tenant(id=scope.id))
        async with database.transaction(scope) as tx:
            row = NewRow(new_id(), {"name": "Books", "description": None})
            await tx.records.add(registry["categories"], [row], Act(by=None, at=NOW))
    yield database
    await database.close()


async def seen(connection: "asyncpg.Connection[asyncpg.Record]") -> int | None:
    """Number of rows that are seen; None for a role that may not look."""
    try:
        count: int = await connection.fetchval("SELECT count(*) FROM categories")
    except asyncpg.InsufficientPrivilegeError:
        return None
    return count


@pytest.mark.promise(
    "security, row-level security: no statement of the service leaves row-level security: the role that it logs in as "
    "has no rights of its own"
)
@pytest.mark.parametrize("statement", LEAVING)
async def test_no_statement_leaves_row_level_security(plain: PostgresDatabase, statement: str) -> None:
    async with plain.autocommit(HERE) as tx:
        assert await seen(tx.connection) == 1
        with suppress(asyncpg.PostgresError):
            await tx.connection.execute(statement)
        assert await seen(tx.connection) in (1, None)
        await tx.connection.execute(f"SET ROLE {ROLE}")


@pytest.mark.promise(
    "security, row-level security: no statement of the service leaves row-level security: the role that it logs in as "
    "has no rights of its own"
)
async def test_a_superuser_would_leave_it_by_one_statement(plain: PostgresDatabase, database_url: str) -> None:
    assert (await login_role(database_url)).passes_row_security
    connection = await asyncpg.connect(database_url, server_settings={"role": ROLE})
    assert await seen(connection) == 0
    await connection.execute(LEAVING[0])
    assert await seen(connection) == 2
    await connection.close()


@pytest.mark.promise("security, row-level security: the owner makes that role, and migrates")
async def test_the_owner_makes_a_login_without_rights_of_its_own(
    database_url: str, plain_url: str, registry: Registry
) -> None:
    # replicas that start together, and later starts
    await asyncio.gather(*(ensure_login_role(database_url, plain_url) for _ in range(3)))
    await ensure_login_role(database_url, plain_url)
    made = await login_role(plain_url)
    assert made.name == urlsplit(plain_url).username
    assert not made.passes_row_security
    assert await pending(plain_url, registry) == []
    assert await applied_versions(plain_url) == await applied_versions(database_url)


async def test_the_owner_itself_needs_no_login_of_its_own(database_url: str) -> None:
    await ensure_login_role(database_url, database_url)
    assert (await login_role(database_url)).server == urlsplit(database_url).hostname
