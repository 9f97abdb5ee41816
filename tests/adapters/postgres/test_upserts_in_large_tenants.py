"""Files of few rows that change rows of a large tenant: each is planned for its own, and not for any tenant."""

from collections.abc import AsyncIterator, Iterable

import asyncpg
import pytest

from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from application.ports.entities.files import Loading
from application.ports.entities.records import Act
from domain.entities.csv_rows import written
from domain.entities.declaration import Registry
from domain.scope import OneTenant
from tests.builders import NOW, new_id
from tests.conftest import NewDatabase

LARGE = OneTenant(new_id())
ROWS = 200_000
RUNS = 8
"""More than the five that are planned for their own values before PostgreSQL may keep a plan for all."""
FILL = """
INSERT INTO categories (tenant_id, id, name, created_at, updated_at, version)
SELECT CASE WHEN n <= $2 THEN $1::uuid ELSE gen_random_uuid() END, gen_random_uuid(), 'S ' || n, now(), now(), 1
FROM generate_series(1, $2::int * 6 / 5) n"""
READ = "SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables WHERE relname = 'categories'"


async def file_of(numbers: Iterable[int]) -> AsyncIterator[bytes]:
    for line, number in enumerate(numbers, start=2):
        yield written([str(line), str(new_id()), "11", None, None, f"s {number}", f"the {line}th"]).encode()


async def test_each_statement_of_a_file_is_planned_for_the_file(postgres: PostgresDatabase, registry: Registry) -> None:
    model = registry["categories"]
    async with postgres.transaction(LARGE) as session:
        await session.transfers.load(model, file_of([1]), Loading(Act(by=None, at=NOW), model.by_name["name"]))
        assert await session.connection.fetchval("SHOW plan_cache_mode") == "force_custom_plan"
    async with postgres.transaction(LARGE) as session:
        assert await session.connection.fetchval("SHOW plan_cache_mode") == "auto"


@pytest.mark.long  # fewer rows are read at once, as they should be
async def test_a_file_of_few_rows_reads_few_rows_of_many(new_database: NewDatabase, registry: Registry) -> None:
    url = await new_database()
    owner = await asyncpg.connect(url, server_settings={"tenantry.scope": "every"})
    await owner.execute(FILL, LARGE.id, ROWS)
    await owner.execute("VACUUM ANALYZE categories")
    await owner.close()
    database = PostgresDatabase(url, registry, CountingIds(), connections=1)
    await database.open()
    model, read = registry["categories"], []
    loading = Loading(Act(by=None, at=NOW), model.by_name["name"])
    for number in range(RUNS):
        async with database.transaction(LARGE) as session:
            before = int(await session.connection.fetchval(READ))
            loaded = await session.transfers.load(model, file_of(range(number, 1_000, 100)), loading)
            assert (loaded.imported, list(loaded.errors)) == (10, [])
            read.append(int(await session.connection.fetchval(READ)) - before)
    await database.close()
    assert max(read) < ROWS / 10, read
