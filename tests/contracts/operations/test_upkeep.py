"""Upkeep: dead rows and statistics of the tables, looked after where the database itself is late."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import asyncpg
import pytest

from adapters.memory.database import MemoryDatabase
from adapters.memory.upkeep import MemoryUpkeep
from adapters.postgres.operations.reference_statistics import statistics_name
from adapters.postgres.operations.upkeep import PostgresUpkeep
from application.ports.upkeep import Upkeep
from domain.entities.declaration import Registry
from domain.errors import ServiceUnavailable
from tests.conftest import NewDatabase
from tests.waiting import HUNG_AFTER

FILLED = """
INSERT INTO currencies (id, code, name, created_at, updated_at, version)
SELECT gen_random_uuid(), n::text, 'x', now(), now(), 1 FROM generate_series(1, $1::int) n"""
LINES = """
INSERT INTO row_history (entity, row_id, version, action, at, changes)
SELECT 'x', gen_random_uuid(), n, 'created', '2001-01-01', '[]' FROM generate_series(1, $1::int) n"""
STATISTICS = "SELECT attname::text FROM pg_stats WHERE tablename = $1"
DEAD = "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'currencies'"


@pytest.fixture
async def own_url(new_database: NewDatabase) -> str:
    return await new_database()


@pytest.fixture
async def connection(own_url: str) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
    made = await asyncpg.connect(own_url)
    # else autovacuum might be the first to come
    await made.execute("ALTER TABLE currencies SET (autovacuum_enabled = off)")
    yield made
    await made.close()


@pytest.mark.parametrize("kind", ["memory", "postgres"])
async def test_the_earlier_of_two_clocks_is_that_of_the_process_where_it_is_not_ahead(
    kind: str, own_url: str, registry: Registry, memory: MemoryDatabase
) -> None:
    upkeep: Upkeep = MemoryUpkeep(memory) if kind == "memory" else PostgresUpkeep(own_url, registry)
    for behind in (timedelta(minutes=1), timedelta(days=365)):
        now = datetime.now(UTC) - behind
        assert await upkeep.earlier(now) == now


async def test_a_clock_that_is_ahead_is_not_believed(own_url: str, registry: Registry) -> None:
    ahead = datetime.now(UTC) + timedelta(days=365)
    assert await PostgresUpkeep(own_url, registry).earlier(ahead) < ahead - timedelta(days=364)


async def told(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Sends what this connection has counted to the server's statistics, which it does now and then otherwise."""
    await connection.fetchval("SELECT pg_stat_force_next_flush()")
    await connection.fetchval("SELECT 1")


@pytest.mark.parametrize("kind", ["memory", "postgres"])
async def test_upkeep_does_not_change_an_analyzed_table(
    kind: str, own_url: str, registry: Registry, memory: MemoryDatabase
) -> None:
    upkeep: Upkeep = MemoryUpkeep(memory) if kind == "memory" else PostgresUpkeep(own_url, registry)
    await upkeep.tend()
    await upkeep.analyze(registry["currencies"])
    assert list(await upkeep.tend()) == []


@pytest.mark.promise(
    "declarations, indexes and decimals: Dead rows and the planner's statistics are looked after where autovacuum does "
    "not come in time"
)
async def test_a_table_that_was_never_analysed_is(
    own_url: str, connection: "asyncpg.Connection[asyncpg.Record]", registry: Registry
) -> None:
    upkeep = PostgresUpkeep(own_url, registry)
    await connection.execute(FILLED, 10)
    await told(connection)
    assert "currencies" in await upkeep.tend()
    assert "code" in [name for (name,) in await connection.fetch(STATISTICS, "currencies")]
    assert "currencies" not in await upkeep.tend()


async def test_parts_of_tables_are_looked_after(
    own_url: str, connection: "asyncpg.Connection[asyncpg.Record]", registry: Registry
) -> None:
    await connection.execute("ALTER TABLE row_history_rest SET (autovacuum_enabled = off)")
    await connection.execute(LINES, 10)
    await told(connection)
    upkeep = PostgresUpkeep(own_url, registry)
    assert "row_history_rest" in await upkeep.tend()
    assert "row_history_rest" not in await upkeep.tend()


@pytest.mark.promise(
    "declarations, indexes and decimals: Dead rows and the planner's statistics are looked after where autovacuum does "
    "not come in time"
)
async def test_it_comes_again_after_many_changes_and_not_after_few(
    own_url: str, connection: "asyncpg.Connection[asyncpg.Record]", registry: Registry
) -> None:
    upkeep = PostgresUpkeep(own_url, registry)
    await connection.execute(FILLED, 1_000)
    await told(connection)
    await upkeep.analyze(registry["currencies"])
    await connection.execute("UPDATE currencies SET name = 'y' WHERE code::int <= 700")
    await told(connection)
    assert "currencies" not in await upkeep.tend()
    await connection.execute("UPDATE currencies SET name = 'z' WHERE code::int <= 100")
    await told(connection)
    assert "currencies" in await upkeep.tend()


@pytest.mark.promise(
    "declarations, indexes and decimals: Dead rows and the planner's statistics are looked after where autovacuum does "
    "not come in time"
)
async def test_dead_rows_are_cleared(
    own_url: str, connection: "asyncpg.Connection[asyncpg.Record]", registry: Registry
) -> None:
    await connection.execute(FILLED, 3_000)
    await connection.execute("DELETE FROM currencies WHERE code::int > 100")
    await told(connection)
    assert await connection.fetchval(DEAD) == 2_900
    assert "currencies" in await PostgresUpkeep(own_url, registry).tend()
    assert await connection.fetchval(DEAD) == 0


async def test_an_import_renews_the_statistics_of_its_table(
    own_url: str, connection: "asyncpg.Connection[asyncpg.Record]", registry: Registry
) -> None:
    await connection.execute(FILLED, 10)
    await PostgresUpkeep(own_url, registry).analyze(registry["currencies"])
    assert "code" in [name for (name,) in await connection.fetch(STATISTICS, "currencies")]


async def test_tables_of_another_owner_are_not_touched_and_no_superuser_is_needed(
    own_url: str, connection: "asyncpg.Connection[asyncpg.Record]", registry: Registry
) -> None:
    owner = f"upkeep_{uuid4().hex[:12]}"
    await connection.execute(FILLED, 10)
    await told(connection)
    await connection.execute(f"CREATE ROLE \"{owner}\" LOGIN PASSWORD 'secret'")
    url = re.sub(r"//[^@]*@", f"//{owner}:secret@", own_url)
    try:
        assert list(await PostgresUpkeep(url, registry).tend()) == []
        await connection.execute(f'ALTER TABLE currencies OWNER TO "{owner}"')
        assert list(await PostgresUpkeep(url, registry).tend()) == ["currencies"]
    finally:
        await connection.execute("ALTER TABLE currencies OWNER TO CURRENT_USER")
        await connection.execute(f'DROP OWNED BY "{owner}"')
        await connection.execute(f'DROP ROLE "{owner}"')


async def test_a_table_that_is_locked_waits_for_the_next_round(
    own_url: str, connection: "asyncpg.Connection[asyncpg.Record]", registry: Registry
) -> None:
    await connection.execute(FILLED, 10)
    await told(connection)
    async with connection.transaction():
        await connection.execute("LOCK TABLE currencies IN ACCESS EXCLUSIVE MODE")
        await asyncio.wait_for(PostgresUpkeep(own_url, registry).analyze(registry["currencies"]), HUNG_AFTER)
    assert await connection.fetch(STATISTICS, "currencies") == []


REFERENCE_STATISTICS = "SELECT stxname::text AS name FROM pg_statistic_ext ORDER BY 1"


async def reference_statistics(connection: "asyncpg.Connection[asyncpg.Record]") -> set[str]:
    return {row["name"] for row in await connection.fetch(REFERENCE_STATISTICS)}


async def test_statistics_of_references_wait_for_a_locked_table_and_everything_else_is_done(
    own_url: str, connection: "asyncpg.Connection[asyncpg.Record]", registry: Registry
) -> None:
    await connection.execute(FILLED, 10)
    await told(connection)
    async with connection.transaction():
        await connection.execute("LOCK TABLE products IN SHARE UPDATE EXCLUSIVE MODE")
        tended = await asyncio.wait_for(PostgresUpkeep(own_url, registry).tend(), HUNG_AFTER)
    assert "currencies" in tended
    made = await reference_statistics(connection)
    assert "st_reviews__product_id" in made
    assert "st_products__category_id" not in made
    await PostgresUpkeep(own_url, registry).tend()
    assert "st_products__category_id" in await reference_statistics(connection)


async def test_a_column_that_another_version_has_renamed_stops_nothing(
    own_url: str, connection: "asyncpg.Connection[asyncpg.Record]", registry: Registry
) -> None:
    await connection.execute(FILLED, 10)
    await told(connection)
    await connection.execute("ALTER TABLE products RENAME category_id TO kind_id")
    assert "currencies" in await PostgresUpkeep(own_url, registry).tend()
    assert "st_reviews__product_id" in await reference_statistics(connection)


def test_statistics_of_two_references_never_share_a_name() -> None:
    assert statistics_name("order", "line_item_id") != statistics_name("order_line", "item_id")


async def test_upkeep_reports_an_unreachable_database(registry: Registry) -> None:
    with pytest.raises(ServiceUnavailable):
        await PostgresUpkeep("postgresql://nobody@127.0.0.1:1/none", registry).tend()


async def test_two_processes_do_not_tend_at_once(
    own_url: str, connection: "asyncpg.Connection[asyncpg.Record]", registry: Registry
) -> None:
    await connection.execute(FILLED, 10)
    await told(connection)
    await connection.fetchval("SELECT pg_advisory_lock(hashtextextended('tenantry.upkeep', 0))")
    assert list(await PostgresUpkeep(own_url, registry).tend()) == []
