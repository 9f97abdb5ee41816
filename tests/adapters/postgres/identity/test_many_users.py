"""The list of users over a hundred thousand in one tenant: every way of asking is served by indexes."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from adapters.memory.clock import CountingIds
from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.identity.user_pages import UserPageStatement
from application.identity.administration.listing import SORTABLE_USERS
from application.ports.identity.users import Listing
from domain.entities.declaration import Registry
from domain.scope import EveryTenant
from tests.conftest import LONG_ASKED, NewDatabase

LARGE, SMALL = UUID("00000000-0000-7000-8000-000000000101"), UUID("00000000-0000-7000-8000-000000000102")
MEMBERS = 100_000 if LONG_ASKED else 20_000
"""Enough for plans that are those of a hundred thousand; how long pages take is measured with all of these."""
QUICK = 0.5
"""Seconds for any page and its exact total, the deepest aside, on a machine that is busy with other tests."""

FURNISH = f"""
INSERT INTO tenants (id, name, identifier, is_active, created_at, settings)
SELECT id, 'Example', 'example-' || n, true, now(), '{{}}' FROM unnest(ARRAY['{LARGE}', '{SMALL}']::uuid[])
    WITH ORDINALITY t (id, n);
INSERT INTO roles (id, tenant_id, name, description, permissions)
SELECT ('00000000-0000-7000-8000-00000000020' || n)::uuid, '{LARGE}', name, '', '{{}}'
FROM unnest(ARRAY['Everybody', 'Few']) WITH ORDINALITY r (name, n);
INSERT INTO users (id, email, email_key, full_name, email_confirmed, is_active, created_at, updated_at, last_login_at)
SELECT ('01920000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, email, email,
    'Person ' || md5(n::text) || ' ' || n, true, n % 50 <> 0,
    timestamptz '2026-01-01' + (n::bigint * 7919 % 100003) * interval '1 second',
    timestamptz '2026-01-01' + (n::bigint * 104729 % 100003) * interval '1 second',
    CASE WHEN n % 3 = 0 THEN timestamptz '2026-06-01' + (n::bigint * 31337 % 100003) * interval '1 second' END
FROM generate_series(1, {MEMBERS} + 2000) n, LATERAL (SELECT 'user' || n || '@example.com' AS email) made;
INSERT INTO memberships (tenant_id, user_id, is_default, joined_at)
SELECT '{LARGE}', id, true, now() FROM users ORDER BY id LIMIT {MEMBERS};
INSERT INTO memberships (tenant_id, user_id, is_default, joined_at)
SELECT '{SMALL}', id, false, now() FROM users ORDER BY md5(id::text) LIMIT 50;
INSERT INTO membership_roles (tenant_id, user_id, role_id)
SELECT tenant_id, user_id, '00000000-0000-7000-8000-000000000201' FROM memberships WHERE tenant_id = '{LARGE}';
INSERT INTO membership_roles (tenant_id, user_id, role_id)
SELECT tenant_id, user_id, '00000000-0000-7000-8000-000000000202'
FROM memberships WHERE tenant_id = '{LARGE}' ORDER BY md5(user_id::text) LIMIT 100"""

ASKED: dict[str, dict[str, Any]] = {
    **{
        f"sort by {name} {'down' if descending else 'up'}": {"sort_by": name, "descending": descending}
        for name in SORTABLE_USERS.values()
        for descending in (True, False)
    },
    "page 50": {"page": 50},
    "search one": {"search": "user17777@"},
    "search two words": {"search": "person 9999"},
    "search nobody": {"search": "zzzzqq"},
    "role of all": {"role": "Everybody"},
    "role of few": {"role": "Few", "sort_by": "email"},
    "role of nobody": {"role": "Nothing"},
    "inactive": {"is_active": False},
    "active by name": {"is_active": True, "sort_by": "full_name"},
    "all at once": {"search": "user7", "role": "Few", "is_active": True, "sort_by": "last_login_at"},
}


@pytest.fixture(scope="module")
async def database(new_database: NewDatabase, registry: Registry) -> AsyncIterator[PostgresDatabase]:
    """Filled with the indexes left out, and made again at once: that is many times quicker."""
    url = await new_database()
    owner = await asyncpg.connect(url, server_settings={"tenantry.scope": "every"})
    indexes = await owner.fetch("SELECT indexname, indexdef FROM pg_indexes WHERE indexname LIKE 'ix_users_%'")
    assert len(indexes) >= 8
    for index in indexes:
        await owner.execute(f"DROP INDEX {index['indexname']}")
    await owner.execute(FURNISH)
    await asyncio.gather(*(_one_more(url, index["indexdef"]) for index in indexes))
    for table in ("users", "memberships", "membership_roles"):
        await owner.execute(f"VACUUM ANALYZE {table}")
    await owner.close()
    database = PostgresDatabase(url, registry, CountingIds(), connections=2)
    await database.open()
    yield database
    await database.close()


async def _one_more(url: str, definition: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(definition)
    await connection.close()


@pytest.mark.promise("identity, administration: the list of users over 100,000")
@pytest.mark.long  # it measures time; the plans below are looked at each time
@pytest.mark.parametrize("tenant_id", [LARGE, SMALL, None], ids=["large", "small", "all"])
@pytest.mark.parametrize("asked", ASKED)
async def test_a_page_and_its_exact_total_come_quickly(
    database: PostgresDatabase, tenant_id: UUID | None, asked: str
) -> None:
    listing = Listing(tenant_id=tenant_id, **ASKED[asked])
    async with database.read_only(EveryTenant()) as read:
        took = []
        for _ in range(3):
            began = time.perf_counter()
            await read.users.page(listing)
            took.append(time.perf_counter() - began)
    assert min(took) < QUICK


class Explained:
    """A connection that keeps the plans of what it is asked."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection
        self.plans: list[str] = []
        self.fetch = connection.fetch

    async def fetch_anew(self, statement: str, *values: object) -> Sequence[asyncpg.Record]:
        plan = await self._connection.fetch_anew(f"EXPLAIN {statement}", *values)
        self.plans.append("\n".join(row[0] for row in plan))
        return await self._connection.fetch_anew(statement, *values)


@pytest.mark.promise("identity, administration: the list of users over 100,000")
@pytest.mark.parametrize("asked", ASKED)
async def test_no_page_reads_all_users(database: PostgresDatabase, asked: str) -> None:
    """Of the tenant with all of them; counting those that a condition leaves may."""
    async with database.read_only(EveryTenant()) as read:
        extension = await read.connection.fetchval("SELECT count(*) FROM pg_extension WHERE extname = 'pg_trgm'")
        explained: Any = Explained(read.connection)
        listing = Listing(tenant_id=LARGE, **ASKED[asked])
        page = UserPageStatement(explained, listing)
        await page.read()
    plan = next(plan for plan in explained.plans if "role_names" in plan or "SubPlan" in plan)
    if extension or "search" not in ASKED[asked] or "role" in ASKED[asked]:
        assert "Seq Scan on users" not in plan, plan
    if asked.startswith(("sort", "page", "active")):
        assert "Sort Key: users_1" not in plan or "Incremental Sort" in plan, plan  # of the few that share a value


async def test_the_large_tenants_totals_are_exact(database: PostgresDatabase) -> None:
    async with database.read_only(EveryTenant()) as read:
        totals = {
            asked: (await read.users.page(Listing(tenant_id=LARGE, **ASKED[asked])))[1]
            for asked in ("page 50", "search one", "role of few", "inactive", "role of nobody")
        }
    assert totals == {
        "page 50": MEMBERS,
        "search one": 1,
        "role of few": 100,
        "inactive": MEMBERS // 50,
        "role of nobody": 0,
    }
