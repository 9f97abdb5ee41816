"""The second wall: what a statement that forgets the tenant still cannot see or do."""

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

import asyncpg
import pytest

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.schema.row_security import ROLE
from adapters.postgres.schema.schema import metadata_for
from application.ports.entities.records import Act, NewRow
from domain.entities.declaration import Registry
from domain.scope import AuditEvent, EveryTenant, OneTenant, Scope
from tests.builders import NOW, new_id, role, tenant, user

HERE, THERE = OneTenant(new_id()), OneTenant(new_id())
ACT = Act(by=None, at=NOW)


@pytest.fixture
async def filled(postgres: PostgresDatabase, registry: Registry) -> PostgresDatabase:
    """One category, one role, one member and one audit event in each of two tenants."""
    for scope in (HERE, THERE):
        owner, held, ada = tenant(id=scope.id), role(scope.id), user()
        async with postgres.transaction(EveryTenant()) as tx:
            await tx.tenants.add(owner)
            await tx.roles.add(held)
            await tx.users.add(ada)
            await tx.memberships.save(ada.id, scope.id, [held.id], None, NOW)
            await tx.audit.add(scope.id, AuditEvent(actor_id=ada.id, action="made", occurred_at=NOW))
        async with postgres.transaction(scope) as tx:
            row = NewRow(new_id(), {"name": "Books", "description": None})
            await tx.records.add(registry["categories"], [row], ACT)
    return postgres


TABLES = ["categories", "roles", "memberships", "membership_roles", "audit_events"]


@pytest.fixture
async def forged(filled: PostgresDatabase, database_url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """The role of the service, and no scope."""
    connection = await asyncpg.connect(database_url, server_settings={"role": ROLE})
    yield connection
    await connection.close()


async def tenants_in(connection: "asyncpg.Connection[asyncpg.Record]", table: str) -> set[UUID]:
    return {row["tenant_id"] for row in await connection.fetch(f"SELECT tenant_id FROM {table}")}


@pytest.mark.promise("entities, details: Row-level security refuses a statement without a tenant")
@pytest.mark.parametrize("table", TABLES)
async def test_without_a_scope_a_statement_fails(forged: "asyncpg.Connection[asyncpg.Record]", table: str) -> None:
    """It does not answer that there are no rows."""
    with pytest.raises(asyncpg.UndefinedObjectError, match='parameter "tenantry'):
        await tenants_in(forged, table)
    # SET LOCAL leaves an empty setting at the end of its transaction.
    await forged.execute("SET tenantry.scope = ''")
    with pytest.raises(asyncpg.InvalidTextRepresentationError):
        await tenants_in(forged, table)


CHANGES = [
    *(f"UPDATE {table} SET tenant_id = tenant_id" for table in TABLES[:-1]),
    *(f"DELETE FROM {table}" for table in TABLES[:-1]),
    f"INSERT INTO audit_events (tenant_id, id, action, occurred_at) VALUES ('{HERE.id}', '{HERE.id}', 'x', now())",
]


@pytest.mark.parametrize("statement", CHANGES)
async def test_without_a_scope_nothing_is_changed(forged: "asyncpg.Connection[asyncpg.Record]", statement: str) -> None:
    with pytest.raises(asyncpg.UndefinedObjectError, match='parameter "tenantry'):
        await forged.execute(statement)
    await forged.execute("SET tenantry.scope = ''")
    with pytest.raises(asyncpg.InvalidTextRepresentationError):
        await forged.execute(statement)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    ("scope", "seen"), [(HERE, {HERE.id}), (THERE, {THERE.id}), (EveryTenant(), {HERE.id, THERE.id})]
)
async def test_a_statement_that_forgets_the_tenant_sees_its_scope(
    filled: PostgresDatabase, table: str, scope: Scope, seen: set[UUID]
) -> None:
    async with filled.read_only(scope) as read:
        assert await tenants_in(read.connection, table) == seen
    async with filled.transaction(scope) as tx:
        assert await tenants_in(tx.connection, table) == seen


async def test_rows_of_another_tenant_can_be_neither_changed_nor_added(filled: PostgresDatabase) -> None:
    async with filled.transaction(HERE) as tx:
        assert await tx.connection.execute("UPDATE categories SET name = 'x'") == "UPDATE 1"
        assert await tx.connection.execute("DELETE FROM categories WHERE tenant_id = $1", THERE.id) == "DELETE 0"
    for statement in (
        "UPDATE categories SET tenant_id = $1",
        "INSERT INTO audit_events (tenant_id, id, action, occurred_at) VALUES ($1, gen_random_uuid(), 'x', now())",
        "INSERT INTO memberships (tenant_id, user_id, joined_at) VALUES ($1, gen_random_uuid(), now())",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with filled.transaction(HERE) as tx:
                await tx.connection.execute(statement, THERE.id)


async def test_a_tenant_sees_the_systems_roles_and_cannot_change_them(filled: PostgresDatabase) -> None:
    shared = role(None)
    async with filled.transaction(EveryTenant()) as tx:
        await tx.roles.add(shared)
    async with filled.transaction(HERE) as tx:
        assert shared in [listed.role for listed in await tx.roles.visible(new_id())]
        assert await tx.connection.execute("UPDATE roles SET name = 'x' WHERE tenant_id IS NULL") == "UPDATE 0"


@pytest.mark.parametrize("statement", ["UPDATE audit_events SET action = 'x'", "DELETE FROM audit_events"])
async def test_the_audit_trail_only_grows(filled: PostgresDatabase, statement: str) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with filled.transaction(EveryTenant()) as tx:
            await tx.connection.execute(statement)


async def test_the_scope_of_one_use_does_not_reach_the_next(filled: PostgresDatabase) -> None:
    """Whatever order a connection is used in: reading and transactions, ended well or not."""
    uses: Sequence[Scope] = [HERE, THERE, EveryTenant(), HERE, EveryTenant(), THERE, THERE, HERE]
    for number, scope in enumerate(uses):
        expected = {scope.id} if isinstance(scope, OneTenant) else {HERE.id, THERE.id}
        async with filled.read_only(scope) as read:
            assert await tenants_in(read.connection, "categories") == expected
        other = uses[number - 1]
        with pytest.raises(ZeroDivisionError):
            async with filled.transaction(other):
                raise ZeroDivisionError
        async with filled.transaction(other):
            pass
        async with filled.read_only(scope) as read:
            assert await tenants_in(read.connection, "categories") == expected


@pytest.mark.promise("entities, details: Row-level security refuses a statement without a tenant")
async def test_every_table_with_a_tenant_is_behind_the_wall(
    postgres: PostgresDatabase, owner: "asyncpg.Connection[asyncpg.Record]", registry: Registry
) -> None:
    rows = await owner.fetch(
        "SELECT relname FROM pg_class WHERE relrowsecurity AND relforcerowsecurity AND NOT relispartition"
    )
    owned = {table.name for table in metadata_for(registry).sorted_tables if "tenant_id" in table.c}
    assert {row["relname"] for row in rows} == owned - {"sessions"}


async def test_the_service_is_neither_owner_nor_superuser(postgres: PostgresDatabase) -> None:
    async with postgres.autocommit(EveryTenant()) as read:
        connection: ServiceConnection = read.connection
        assert await connection.fetchval("SELECT current_user") == ROLE
        await connection.execute("RESET ROLE")
        assert await connection.fetchval("SELECT current_user") == ROLE
        bypass = "SELECT rolsuper OR rolbypassrls OR rolcanlogin FROM pg_roles WHERE rolname = current_user"
        assert await connection.fetchval(bypass) is False
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute("ALTER TABLE categories DISABLE ROW LEVEL SECURITY")
