"""Files of few rows that change rows of a large tenant: each is planned for its own, and not for any tenant."""

from collections.abc import AsyncIterator, Iterable
from uuid import UUID

import asyncpg
import pytest

from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.entities.files import loading as loading_of_files
from adapters.postgres.entities.files.loading_statements import PLANNING, USUAL_PLANNING
from application.ports.entities.files import Loading
from application.ports.entities.records import Act, NewRow
from domain.entities.csv_rows import written
from domain.entities.declaration import Registry
from domain.scope import OneTenant
from tests.builders import NOW, new_id
from tests.conftest import NewDatabase
from tests.contracts.entities.test_records_writing import product

LARGE = OneTenant(new_id())
ROWS = 200_000
RUNS = 8
"""More than the five that are planned for their own values before PostgreSQL may keep a plan for all."""
FILL = """
INSERT INTO categories (tenant_id, id, name, created_at, updated_at, version)
SELECT CASE WHEN n <= $2 THEN $1::uuid ELSE gen_random_uuid() END, gen_random_uuid(), 'S ' || n, now(), now(), 1
FROM generate_series(1, $2::int * 6 / 5) n"""
READ = "SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables WHERE relname = 'categories'"


GENERAL = "SELECT statement FROM pg_prepared_statements WHERE generic_plans > 0 AND strpos(statement, '$1') > 0"


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


async def products(numbers: Iterable[int], category: UUID, given: str = "11111111") -> AsyncIterator[bytes]:
    """Live products; ``given`` tells which fields a row has values for, in the order of the declaration."""
    for line, number in enumerate(numbers, start=2):
        cells = ["A", f"SKU-{number}", None, "1", "5", "live", str(category), None]
        yield written([str(line), str(new_id()), given, None, None, *cells]).encode()


async def test_references_are_checked_by_remembered_plans_and_files_written_by_their_own(
    postgres: PostgresDatabase, registry: Registry
) -> None:
    model, category = registry["products"], NewRow(new_id(), {"name": "Lamps", "description": None})
    loading, sent, general = Loading(Act(by=None, at=NOW), model.by_name["sku"]), list[str](), list[str]()
    database = PostgresDatabase(postgres.url, registry, CountingIds(), connections=1)
    await database.open()
    async with database.transaction(LARGE) as session:
        await session.records.add(registry["categories"], [category], loading.act)
    for number in range(RUNS):
        async with database.transaction(LARGE) as session:
            with session.connection.query_logger(lambda record: sent.append(record.query)):
                file = products(range(number, number + 3), category.id)
                assert (await session.transfers.load(model, file, loading)).imported == 3
            general = [row["statement"] for row in await session.connection.fetch(GENERAL)]
    await database.close()
    assert [text for text in sent if "plan_cache_mode" in text] == [PLANNING, USUAL_PLANNING, PLANNING] * RUNS
    assert not [text for text in general if "tenantry incoming" in text]


async def test_the_rules_of_a_large_file_are_checked_in_parts_of_one_reading(
    postgres: PostgresDatabase, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading_of_files, "CHECKED_TOGETHER", 10)
    model, category = registry["products"], NewRow(new_id(), {"name": "Lamps", "description": None})
    loading, tenant = Loading(Act(by=None, at=NOW), model.by_name["sku"]), OneTenant(new_id())
    bare = [NewRow(new_id(), product(f"SKU-{number}")) for number in (3, 12, 25)]
    async with postgres.transaction(tenant) as session:
        await session.records.add(registry["categories"], [category], loading.act)
        await session.records.add(model, bare, loading.act)
        await session.transfers.load(model, products(set(range(35)) - {3, 12, 25}, category.id), loading)
    async with postgres.transaction(tenant) as session:
        loaded = await session.transfers.load(model, products(range(35), category.id, given="11111101"), loading)
        cursors = await session.connection.fetch("SELECT statement FROM pg_cursors")
    assert [error.row for error in loaded.errors] == [5, 14, 27]
    assert (loaded.imported, len([row for row in cursors if "old sku" in row["statement"]])) == (32, 1)
