"""Rows of a file on their way into PostgreSQL: what they refer to stays as long as it takes.

Upserts of long rows under a rule: few of them are in the process at once.

Files of few rows that change rows of a large tenant: each is planned for its own, and not for any tenant.
"""

import tracemalloc
from collections.abc import AsyncIterator, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated
from uuid import UUID

import asyncpg
import pytest
from msgspec import Meta, Struct

from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.entities.files import loading as loading_of_files
from adapters.postgres.entities.files.copying import PostgresTransfers
from adapters.postgres.entities.files.loading_statements import PLANNING, USUAL_PLANNING
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from application.ports.entities.files import Loading
from application.ports.entities.records import Act, NewRow
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.declaration import Registry
from domain.entities.files.csv_rows import written
from domain.entities.markers import entity, unique
from domain.entities.query.read_query import read_export
from domain.entities.registry import build_registry
from domain.errors import FieldError, ServiceUnavailable
from domain.scope import OneTenant
from tests.builders import NOW, new_id
from tests.conftest import NewDatabase
from tests.contracts.entities.writing.test_records_writing import category, product
from tests.servers.databases import SOMEBODY_WAITS
from tests.waiting import until

HERE = OneTenant(new_id())
ACT = Act(by=new_id(), at=NOW)
UNLOCKED = "SELECT id FROM categories ORDER BY id FOR UPDATE SKIP LOCKED"
"""Rows that a deletion could lock at this moment: it locks them for update."""


async def lines(*categories: str | None) -> AsyncIterator[bytes]:
    for number, line_category in enumerate(categories, start=2):
        cells = ["A", f"SKU-{number}", None, "1", "0", "draft", line_category, None, None]
        yield written([str(number), str(new_id()), *cells]).encode()


@pytest.mark.parametrize("rows", [1, 400])
async def test_what_rows_refer_to_cannot_be_deleted_until_they_are_stored(
    postgres: PostgresDatabase, owner: "asyncpg.Connection[asyncpg.Record]", registry: Registry, rows: int
) -> None:
    first, second, other, unknown = sorted(new_id() for _ in range(4))
    made = [NewRow(new, category(str(new))) for new in (first, second, other)]
    async with postgres.transaction(HERE) as tx:
        await tx.records.add(registry["categories"], made, ACT)
    referring = [str(second), str(first)] * rows
    async with postgres.transaction(HERE) as tx:
        coming = lines(*referring, None, str(unknown))
        loaded = await tx.transfers.load(registry["products"], coming, Loading(ACT, None))
        assert [found["id"] for found in await owner.fetch(UNLOCKED)] == [other]
    assert (loaded.imported, [error.row for error in loaded.errors]) == (2 * rows + 1, [2 * rows + 3])
    assert [found["id"] for found in await owner.fetch(UNLOCKED)] == [first, second, other]


async def first_piece(postgres: PostgresDatabase, registry: Registry, asked: str) -> None:
    products, query = registry["products"], read_export(registry["products"], registry, frozenset(), [])
    async with postgres.transaction(HERE) as tx:
        transfers = PostgresTransfers(tx.connection, registry, HERE, patience=0.05)
        if asked == "count":
            await transfers.count(products, query, 5)
        else:
            await anext(transfers.pieces(products, query, "csv"))


@pytest.mark.promise(
    "files, transfers: the time to the first row and the count of an xlsx end as a page's statement does"
)
@pytest.mark.parametrize("asked", ["rows", "count"])
async def test_a_slow_statement_of_an_export_ends_as_a_pages_does(
    postgres: PostgresDatabase, owner: "asyncpg.Connection[asyncpg.Record]", registry: Registry, asked: str
) -> None:
    async with owner.transaction():
        await owner.execute("LOCK TABLE products IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(ServiceUnavailable):
            await first_piece(postgres, registry, asked)
        await until(partial(owner.fetchval, SOMEBODY_WAITS), False)


ACT_OF_LONG_ROWS_OF_FILES = Act(by=None, at=NOW)
ROWS, LETTERS = 40, 500_000


@entity("scrolls", unique=[unique("name")])
class Scroll(Struct, rename="camel", kw_only=True):
    name: Annotated[str, Meta(max_length=20)]
    text: str

    def check(self, before: "Scroll | None") -> Iterator[FieldError]:
        if before is not None and before.text[:1] != self.text[:1]:
            yield FieldError("text", "keeps its first letter")


@pytest.fixture
def scrolls() -> Registry:
    return build_registry([Scroll, *BUILTIN_ENTITIES])


@pytest.fixture
async def library(new_database: NewDatabase, scrolls: Registry, tmp_path: Path) -> AsyncIterator[PostgresDatabase]:
    url, folders = await new_database(), [VERSIONS, tmp_path]
    assert await write_migration(url, scrolls, "scrolls", folders) is not None
    assert await upgrade(url, scrolls, folders) == []
    database = PostgresDatabase(url, scrolls, CountingIds(), connections=1)
    await database.open()
    yield database
    await database.close()


async def file_of(letters: str) -> AsyncIterator[bytes]:
    for number, letter in enumerate(letters):
        yield written([str(number + 2), str(new_id()), "11", None, None, f"S {number}", letter * 10]).encode()


async def test_few_long_rows_are_checked_at_once(library: PostgresDatabase, scrolls: Registry) -> None:
    model = scrolls["scrolls"]
    new = [NewRow(new_id(), {"name": f"S {number}", "text": "a" * LETTERS}) for number in range(ROWS)]
    async with library.transaction(HERE) as tx:
        await tx.records.add(model, new, ACT_OF_LONG_ROWS_OF_FILES)
    loading = Loading(ACT_OF_LONG_ROWS_OF_FILES, model.by_name["name"])
    async with library.transaction(HERE) as tx:
        tracemalloc.start()
        loaded = await tx.transfers.load(model, file_of("a" * (ROWS - 1) + "b"), loading)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert (loaded.imported, [error.row for error in loaded.errors]) == (ROWS - 1, [ROWS + 1])
    assert most < ROWS * LETTERS / 2, f"{most} bytes"


LARGE = OneTenant(new_id())
ROWS_OF_UPSERTS_IN_LARGE_TENANTS = 200_000
RUNS = 8
"""More than the five that are planned for their own values before PostgreSQL may keep a plan for all."""
FILL = """
INSERT INTO categories (tenant_id, id, name, created_at, updated_at, version)
SELECT CASE WHEN n <= $2 THEN $1::uuid ELSE gen_random_uuid() END, gen_random_uuid(), 'S ' || n, now(), now(), 1
FROM generate_series(1, $2::int * 6 / 5) n"""
READ = "SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables WHERE relname = 'categories'"


GENERAL = "SELECT statement FROM pg_prepared_statements WHERE generic_plans > 0 AND strpos(statement, '$1') > 0"


async def file_of_upserts_in_large_tenants(numbers: Iterable[int]) -> AsyncIterator[bytes]:
    for line, number in enumerate(numbers, start=2):
        yield written([str(line), str(new_id()), "11", None, None, f"s {number}", f"the {line}th"]).encode()


async def test_each_statement_of_a_file_is_planned_for_the_file(postgres: PostgresDatabase, registry: Registry) -> None:
    model = registry["categories"]
    async with postgres.transaction(LARGE) as session:
        await session.transfers.load(
            model, file_of_upserts_in_large_tenants([1]), Loading(Act(by=None, at=NOW), model.by_name["name"])
        )
        assert await session.connection.fetchval("SHOW plan_cache_mode") == "force_custom_plan"
    async with postgres.transaction(LARGE) as session:
        assert await session.connection.fetchval("SHOW plan_cache_mode") == "auto"


@pytest.mark.long  # fewer rows are read at once, as they should be
async def test_a_file_of_few_rows_reads_few_rows_of_many(new_database: NewDatabase, registry: Registry) -> None:
    url = await new_database()
    owner = await asyncpg.connect(url, server_settings={"tenantry.scope": "every"})
    await owner.execute(FILL, LARGE.id, ROWS_OF_UPSERTS_IN_LARGE_TENANTS)
    await owner.execute("VACUUM ANALYZE categories")
    await owner.close()
    database = PostgresDatabase(url, registry, CountingIds(), connections=1)
    await database.open()
    model, read = registry["categories"], []
    loading = Loading(Act(by=None, at=NOW), model.by_name["name"])
    for number in range(RUNS):
        async with database.transaction(LARGE) as session:
            before = int(await session.connection.fetchval(READ))
            loaded = await session.transfers.load(
                model, file_of_upserts_in_large_tenants(range(number, 1_000, 100)), loading
            )
            assert (loaded.imported, list(loaded.errors)) == (10, [])
            read.append(int(await session.connection.fetchval(READ)) - before)
    await database.close()
    assert max(read) < ROWS_OF_UPSERTS_IN_LARGE_TENANTS / 10, read


async def products(numbers: Iterable[int], category: UUID, given: str = "111111111") -> AsyncIterator[bytes]:
    """Live products; ``given`` tells which fields a row has values for, in the order of the declaration."""
    for line, number in enumerate(numbers, start=2):
        cells = ["A", f"SKU-{number}", None, "1", "5", "live", str(category), None, None]
        yield written([str(line), str(new_id()), given, None, None, *cells]).encode()


async def test_references_are_checked_with_cached_plans_and_files_with_fresh_plans(
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
        loaded = await session.transfers.load(model, products(range(35), category.id, given="111111011"), loading)
        cursors = await session.connection.fetch("SELECT statement FROM pg_cursors")
    assert [error.row for error in loaded.errors] == [5, 14, 27]
    assert (loaded.imported, len([row for row in cursors if "old sku" in row["statement"]])) == (32, 1)
