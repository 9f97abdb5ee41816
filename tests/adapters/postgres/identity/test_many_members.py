"""Statements of identity read what they are asked for, however many members, roles and tenants there are beside it."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
import pytest

from adapters.postgres.database import PostgresDatabase
from adapters.postgres.identity.account_states import ACCOUNT_STATE
from adapters.postgres.identity.joining import domains, invitations
from adapters.postgres.identity.memberships import ADMINS
from adapters.postgres.identity.roles import HOLDERS
from adapters.postgres.identity.users import ROLES_IN_TENANTS
from adapters.postgres.schema.row_security import EVERY, ROLE
from application.identity.joining.join_requests import JoinRequestAdministration
from domain.identity.domains import JoinRequest
from domain.identity.users import MEMBER
from domain.scope import SYSTEM_TENANT_ID, EveryTenant
from tests.adapters.postgres.identity.test_statements_of_a_login import Counted
from tests.builders import NOW, caller, role, tenant, user
from tests.conftest import NewDatabase

LARGE = UUID("00000000-0000-7000-8000-000000000101")
SOMEBODY = UUID("01920000-0000-7000-8000-000000000001")
MEMBERS, ROLES, WAITING = 6_000, 400, 2_000

# each member holds three of the tenant's roles; five hundred other tenants have one member, who is its Admin
FILL = f"""
INSERT INTO tenants (id, name, identifier, is_active, created_at, settings)
SELECT CASE n WHEN 0 THEN '{LARGE}'::uuid ELSE gen_random_uuid() END, 'Example', 'example-' || n, true, now(), '{{}}'
FROM generate_series(0, 500) n;
INSERT INTO roles (id, tenant_id, name, description, permissions)
SELECT gen_random_uuid(), t.id, 'Role ' || n, '', '{{read:products}}'
FROM tenants t, generate_series(1, CASE t.id WHEN '{LARGE}' THEN {ROLES} ELSE 1 END) n;
INSERT INTO users (id, email, email_key, full_name, email_confirmed, is_active, created_at, updated_at)
SELECT ('01920000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, email, email, 'Person', true, true, now(), now()
FROM generate_series(1, {MEMBERS}) n, LATERAL (SELECT 'user' || n || '@example.com' AS email) made;
INSERT INTO memberships (tenant_id, user_id, is_default, joined_at) SELECT '{LARGE}', id, true, now() FROM users;
INSERT INTO memberships (tenant_id, user_id, is_default, joined_at)
SELECT t.id, u.id, false, now() FROM (SELECT id, row_number() OVER () AS n FROM tenants WHERE id <> '{LARGE}') t
JOIN (SELECT id, row_number() OVER () AS n FROM users) u USING (n);
INSERT INTO membership_roles (tenant_id, user_id, role_id)
SELECT '{LARGE}', u.id, r.id FROM (SELECT id, row_number() OVER () AS n FROM users) u
JOIN (SELECT id, row_number() OVER () AS n FROM roles WHERE tenant_id = '{LARGE}') r
    ON r.n IN (1 + u.n % {ROLES}, 1 + (u.n + 1) % {ROLES}, 1 + (u.n + 2) % {ROLES});
INSERT INTO membership_roles (tenant_id, user_id, role_id)
SELECT m.tenant_id, m.user_id, r.id FROM memberships m JOIN roles r ON r.tenant_id = m.tenant_id
WHERE m.tenant_id <> '{LARGE}';
INSERT INTO roles (id, name, description, permissions) VALUES (gen_random_uuid(), 'Admin', '', '{{*}}');
INSERT INTO membership_roles (tenant_id, user_id, role_id)
SELECT m.tenant_id, m.user_id, r.id FROM memberships m JOIN roles r ON r.name = 'Admin'
WHERE m.tenant_id <> '{LARGE}' OR m.user_id = '{SOMEBODY}';
INSERT INTO invitations (tenant_id, id, email, email_key, role_ids, invited_by, created_at, expires_at, hash)
SELECT '{LARGE}', gen_random_uuid(), n || '@a.example', n || '@a.example', ARRAY[r.id], '{SOMEBODY}',
    now() - n * interval '1 second', now() + interval '1 day', n FROM generate_series(1, {WAITING}) n, roles r
WHERE r.name = 'Admin';
INSERT INTO join_requests (tenant_id, user_id, domain, created_at, status)
SELECT '{LARGE}', id, 'example.com', now() - row_number() OVER () * interval '1 second', 'pending'
FROM users LIMIT {WAITING};
INSERT INTO revocation_counts (subject, count) SELECT 'user:' || id, 1 FROM users"""
FEW = 150
"""Blocks of 8 kB: more than a look-up takes, and fewer than any of the large tables has."""


@pytest.fixture(scope="module")
async def crowded(new_database: NewDatabase) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A connection of the service to a database with a large tenant."""
    url = await new_database()
    owner = await asyncpg.connect(url, server_settings={"tenantry.scope": EVERY})
    await owner.execute(FILL)
    await owner.execute("VACUUM ANALYZE")
    await owner.close()
    settings = {"role": ROLE, "tenantry.scope": EVERY, "jit": "off", "plan_cache_mode": "force_generic_plan"}
    connection = await asyncpg.connect(url, server_settings=settings)
    yield connection
    await connection.close()


async def blocks_read(
    connection: "asyncpg.Connection[asyncpg.Record]", asked: str, values: str, *, anew: bool = False
) -> int:
    """Blocks that the statement takes by the plan that PostgreSQL remembers for all values, or by one for these."""
    async with connection.transaction():
        if anew:
            await connection.execute("SET LOCAL plan_cache_mode = force_custom_plan")
        await connection.execute(f"PREPARE asked AS {asked}")
        text = await connection.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE asked ({values})")
        await connection.execute("DEALLOCATE asked")
    (explained,) = msgspec.json.decode(text)
    return int(explained["Plan"]["Shared Hit Blocks"] + explained["Plan"]["Shared Read Blocks"])


@pytest.mark.promise("identity, administration: Logins, roles, Admins and pages beside 6,000 members")
async def test_the_state_of_an_account_is_read_in_few_blocks_with_many_members(
    crowded: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    assert await blocks_read(crowded, ACCOUNT_STATE, f"'{SOMEBODY}', NULL, NULL") < FEW
    assert await blocks_read(crowded, ACCOUNT_STATE, "NULL, 'user7@example.com', NULL") < FEW


async def test_versions_are_not_compared_with_each_subject_of_an_account(
    crowded: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    async with crowded.transaction():
        await crowded.execute(f"PREPARE asked AS {ACCOUNT_STATE}")
        plan = await crowded.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE asked ('{SOMEBODY}', NULL, NULL)")
        await crowded.execute("DEALLOCATE asked")
    assert "subject = " in plan
    assert "= ANY" not in plan


async def test_roles_of_accounts_are_found_by_the_accounts(crowded: "asyncpg.Connection[asyncpg.Record]") -> None:
    assert await blocks_read(crowded, ROLES_IN_TENANTS, f"ARRAY['{SOMEBODY}']::uuid[]") < FEW


@pytest.mark.promise("identity, administration: Logins, roles, Admins and pages beside 6,000 members")
async def test_a_list_of_roles_reads_its_tenants_holders_once(crowded: "asyncpg.Connection[asyncpg.Record]") -> None:
    pages = await crowded.fetchval(
        "SELECT sum(relpages) FROM pg_class WHERE relname IN ('membership_roles', 'pk_membership_roles')"
    )
    assert await blocks_read(crowded, HOLDERS, f"'{LARGE}', false") < 2 * pages
    assert await blocks_read(crowded, HOLDERS, f"'{SYSTEM_TENANT_ID}', true") < FEW


async def test_the_admins_of_a_tenant_are_found_without_reading_other_members(
    crowded: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    assert await blocks_read(crowded, ADMINS, f"'{LARGE}', 'Admin'", anew=True) < FEW / 3
    small = await crowded.fetchval("SELECT id FROM tenants WHERE id <> $1 LIMIT 1", LARGE)
    assert await blocks_read(crowded, ADMINS, f"'{small}', 'Admin'", anew=True) < FEW / 3


@pytest.mark.promise("identity, administration: Logins, roles, Admins and pages beside 6,000 members")
@pytest.mark.parametrize(("page", "asked"), [(invitations.PAGE, "NULL, now(), 20, 1900"), (domains.PAGE, "20, 1900")])
async def test_a_deep_page_looks_nothing_up_for_the_rows_before_it(
    crowded: "asyncpg.Connection[asyncpg.Record]", page: str, asked: str
) -> None:
    assert await blocks_read(crowded, page, f"'{LARGE}', {asked}") < WAITING / 2


async def test_a_page_of_join_requests_counts_no_holders_of_roles(postgres: PostgresDatabase) -> None:
    database, home = Counted(postgres), tenant()
    ada = user()
    async with postgres.transaction(EveryTenant()) as tx:
        await tx.tenants.add(home)
        await tx.roles.add(role(None, name=MEMBER))
        await tx.users.add(ada)
        request = JoinRequest(tenant_id=home.id, user_id=ada.id, domain="acme.example", created_at=NOW)
        assert await tx.join_requests.add(request)
    unused: Any = None
    administration = JoinRequestAdministration(database, unused, unused, unused, unused)
    page = await administration.page(caller(tenant_id=home.id), [])
    assert [item.roles for item in page.items] == [(MEMBER,)]
    assert not [query for query in database.sent if query.startswith("SELECT role_id, count")], database.sent
