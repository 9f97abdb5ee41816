"""Statements suit a tenant that has a thousand times the rows of the others, however often they run."""

from collections.abc import AsyncIterator
from urllib.parse import parse_qsl

import asyncpg
import msgspec
import pytest

from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.entities.reading.select import page_shape
from adapters.postgres.entities.reading.select_rows import MANY, page_statement
from adapters.postgres.entities.reading.tenant_sizes import FEW, KNOWN_FOR, TenantSizes
from adapters.postgres.operations.upkeep import PostgresUpkeep
from adapters.postgres.transaction import PostgresTransaction
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.query import View
from domain.entities.query.read_query import read_query
from domain.scope import EveryTenant, OneTenant, Scope
from tests.builders import new_id
from tests.conftest import NewDatabase
from tests.golden.test_select_statements import QUERIES

LARGE = OneTenant(new_id())
ROWS = 12_000
REMEMBERED_AFTER = 6
"""Runs of a statement until PostgreSQL may keep a plan for all values: five are planned for their own."""

# every row has a "lamp" and one in fifty the stock 1, so that a page is full long before all rows were read
FILL = """
WITH made AS (
    INSERT INTO categories (tenant_id, id, name, created_at, updated_at, version)
    SELECT CASE WHEN n <= 2 THEN $1::uuid ELSE gen_random_uuid() END, gen_random_uuid(), 'Shelf ' || n, now(), now(), 1
    FROM generate_series(1, 1002) n RETURNING tenant_id, id
), counted AS (SELECT *, row_number() OVER (PARTITION BY tenant_id) AS place FROM made)
INSERT INTO products (tenant_id, id, name, sku, price, stock, status, category_id, created_at, updated_at, version)
SELECT tenant_id, gen_random_uuid(), 'Red Lamp ' || n, 'S-' || n, n, n % 50, 'draft', id,
    timestamptz '2026-01-01' + n * interval '1 second', now(), 1
FROM counted CROSS JOIN LATERAL generate_series(place::int, CASE WHEN tenant_id = $1 THEN $2::int ELSE 1 END, 2) n"""
GROWN = """
INSERT INTO categories (tenant_id, id, name, created_at, updated_at, version)
SELECT $1, gen_random_uuid(), 'Shelf ' || n, now(), now(), 1 FROM generate_series(1, $2) n"""
NAMES = {"name=shelf 1": False, "name.in=a,b": False, "name.ne=shelf 1": True, "name.gt=shelf 1": True}
"""Filters of a name that is unique without case, and whether they are told as conditions that no index finds."""
EXPECTATION = """
SET LOCAL plan_cache_mode = force_generic_plan;
PREPARE of_category (uuid, uuid) AS SELECT FROM products WHERE tenant_id = $1 AND category_id = $2"""
EXPLAINED = "EXPLAIN (FORMAT JSON) EXECUTE of_category (gen_random_uuid(), gen_random_uuid())"
READ = "SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables WHERE relname = 'products'"


@pytest.fixture(scope="module")
async def uneven(new_database: NewDatabase, registry: Registry) -> AsyncIterator[PostgresDatabase]:
    """A database with a tenant of 12,000 rows beside 1,000 tenants of one, of which the planner knows."""
    url = await new_database()
    owner = await asyncpg.connect(url, server_settings={"tenantry.scope": "every"})
    try:
        await owner.execute(FILL, LARGE.id, ROWS)
        await owner.execute("VACUUM ANALYZE products, categories")
        await PostgresUpkeep(url, registry).tend()
    finally:
        await owner.close()
    database = PostgresDatabase(url, registry, CountingIds(), connections=1)
    await database.open()
    yield database
    await database.close()


async def rows_read(session: PostgresTransaction) -> int:
    return int(await session.connection.fetchval(READ))


@pytest.mark.parametrize(
    ("parameters", "length"),
    [
        ("search=lamp", 20),
        ("search=la", 20),
        ("search=red lamp", 20),
        ("search=4321", 1),
        ("name.contains=lamp", 20),
        ("name.contains=4321", 1),
        ("stock=1", 20),
        ("stock=1&sort=createdAt", 20),
        ("search=lamp&createdAfter=2026-01-01&createdBefore=2026-02-01", 20),
        ("search=4321&createdAfter=2026-01-01&createdBefore=2026-02-01", 1),
        ("search=lamp&status=draft&include=category", 20),
        ("search=4321&status=draft&count=exact", 1),
    ],
)
async def test_a_page_reads_few_rows_of_many(
    uneven: PostgresDatabase, registry: Registry, parameters: str, length: int
) -> None:
    model = registry["products"]
    query = read_query(model, registry, frozenset(), {"count": "none", **dict(parse_qsl(parameters))}.items())
    read = []
    async with uneven.read_transaction(LARGE) as session:
        await session.records.page(model, query)  # the first page also counts the tenant's rows
        for _ in range(2 * REMEMBERED_AFTER):
            before = await rows_read(session)
            page = await session.records.page(model, query)
            assert (page.length, page.has_next) == (length, length == 20)
            read.append(await rows_read(session) - before)
    assert max(read) < ROWS / 2, read


# statements without a parameter have no values to be planned for
PREPARED = "SELECT count(*) FROM pg_prepared_statements WHERE generic_plans > 0 AND parameter_types <> '{}'"
LISTS = [
    *((plural, asked, LARGE) for plural, asked, scope in QUERIES if plural == "products"),
    *((plural, asked, scope) for plural, asked, scope in QUERIES if scope == EveryTenant()),
    *(
        ("products", asked, LARGE)
        for asked in (
            "sort=name",
            "status=live",
            "includeDeleted=true",
            "search=lamp&count=exact",
            "page=90&status=draft",
            "count=estimated&search=red lamp",
            "count=estimated&page=90&sort=price",
            "include=category,reviews",
        )
    ),
]


@pytest.mark.parametrize(("plural", "asked", "scope"), LISTS)
async def test_a_repeated_list_is_planned_for_its_values(
    uneven: PostgresDatabase, registry: Registry, plural: str, asked: str, scope: Scope
) -> None:
    assert await remembered_plans(uneven, registry[plural], registry, asked, scope) == 0


async def remembered_plans(
    database: PostgresDatabase, model: EntityModel, registry: Registry, asked: str, scope: Scope
) -> int:
    """Number of statements of a repeated list that PostgreSQL no longer plans for their values."""
    query = read_query(model, registry, frozenset(), parse_qsl(asked))
    async with database.read_transaction(scope) as session:
        before = int(await session.connection.fetchval(PREPARED))
        for _ in range(2 * REMEMBERED_AFTER):
            await session.records.page(model, query)
            await session.transfers.count(model, query, 5)
        return int(await session.connection.fetchval(PREPARED)) - before


@pytest.mark.parametrize(
    ("asked", "is_planned"),
    [
        ("name=Shelf 3&pageSize=7", False),
        ("sort=name&pageSize=7&fields=name", False),
        ("include=products&pageSize=7", True),
        ("products.status=draft&pageSize=7", True),
    ],
)
async def test_a_small_tenant_s_list_is_planned_only_if_it_reads_other_lists(
    uneven: PostgresDatabase, registry: Registry, asked: str, is_planned: bool
) -> None:
    found = await remembered_plans(uneven, registry["categories"], registry, asked, LARGE)
    assert found == (0 if is_planned else 1), "a tenant with many products has few categories"


async def test_a_tenant_s_rows_are_counted_again_after_ten_minutes(
    uneven: PostgresDatabase, registry: Registry
) -> None:
    model, seconds = registry["categories"], iter((0.0, 1.0, KNOWN_FOR, KNOWN_FOR + 1))
    sizes = TenantSizes(registry, model, lambda: next(seconds))
    grown = OneTenant(new_id())
    shape = page_shape(grown, read_query(model, registry, frozenset(), ()))

    async def has_few() -> bool:
        async with uneven.read_transaction(grown) as session:
            return await sizes.suit_any_plan(session.connection, grown, shape)

    assert await has_few()
    async with uneven.transaction(grown) as tx:
        await tx.connection.execute(GROWN, grown.id, FEW + 1)
    assert [await has_few() for _ in range(3)] == [True, False, False]


@pytest.mark.parametrize(
    ("include", "is_planned"),
    [
        ((), False),
        ((("category",),), False),
        ((("reviews",),), True),
        ((("category",), ("category", "products")), True),
    ],
)
async def test_a_row_by_its_id_is_planned_for_its_values_only_if_it_includes_lists(
    uneven: PostgresDatabase, registry: Registry, include: tuple[tuple[str, ...], ...], is_planned: bool
) -> None:
    async with uneven.read_transaction(LARGE) as session:
        before = await session.connection.fetchval(PREPARED)
        for _ in range(2 * REMEMBERED_AFTER):
            await session.records.get(registry["products"], new_id(), View(include=include))
        assert (await session.connection.fetchval(PREPARED) == before) is is_planned


async def test_a_forced_plan_for_any_values_does_not_run_the_expensive_condition(
    uneven: PostgresDatabase, registry: Registry
) -> None:
    model = registry["products"]
    query = read_query(model, registry, frozenset(), parse_qsl("sort=stock&page=2"))
    async with uneven.read_transaction(LARGE) as session:
        expected = await session.records.page(model, query)
        await session.connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        assert await session.records.page(model, query) == expected


@pytest.mark.parametrize(
    ("plural", "asked", "lists"),
    [
        ("categories", "include=products", 3),
        ("products", "include=category.products", 5),
        ("products", "include=category.products.reviews&fields=name", 5),
        ("categories", "include=products.category.products&pageSize=1", 102),
    ],
)
async def test_a_list_of_related_rows_reads_only_the_rows_that_it_shows(
    uneven: PostgresDatabase, registry: Registry, plural: str, asked: str, lists: int
) -> None:
    """Each of the two categories has 6,000 products."""
    model = registry[plural]
    usual = {"count": "none", "pageSize": "5"}
    query = read_query(model, registry, frozenset(), {**usual, **dict(parse_qsl(asked))}.items())
    async with uneven.read_transaction(LARGE) as session:
        before = await rows_read(session)
        await session.records.page(model, query)
        # each list reads its rows, and those before the one that hasMore looks for
        assert await rows_read(session) - before < lists * 3 * MANY


async def test_the_planner_knows_that_a_reference_determines_the_tenant(uneven: PostgresDatabase) -> None:
    """Else it expects one row of any category, and sorts a whole one where an index has the order of the page."""
    async with uneven.read_transaction(LARGE) as session:
        await session.connection.execute(EXPECTATION)
        (plan,) = msgspec.json.decode(await session.connection.fetchval(EXPLAINED))
    # 6,000 rows in 1,002 categories
    assert 1 < plan["Plan"]["Plan Rows"] <= 6


@pytest.mark.promise(
    "declarations, case folding: Row-level security keeps an index from lower; a text that is unique without case has "
    "a lowered copy, by which filters, upserts and conflicts are found"
)
def test_conditions_that_an_index_finds_are_left_to_the_planner(registry: Registry) -> None:
    """A filter of a category is no more frequent than it is: its index finds the rows."""
    model = registry["products"]

    def told(parameters: str, scope: Scope = LARGE) -> bool:
        query = read_query(model, registry, frozenset(), parse_qsl(parameters))
        return "nullif" in page_statement(registry, model, page_shape(scope, query)).text

    assert told("stock=1")
    assert told("createdAfter=2026-01-01&search=lamp")
    assert told("sku.contains=lamp")
    assert not told("")
    assert not told("createdAfter=2026-01-01")
    assert not told("createdAfter=2026-01-01&stock=1&sort=price")
    assert not told("sku=A-1&stock=1")
    categories = registry["categories"]
    shelves = {asked: read_query(categories, registry, frozenset(), parse_qsl(asked)) for asked in NAMES}
    texts = [page_statement(registry, categories, page_shape(LARGE, query)).text for query in shelves.values()]
    assert ["nullif" in text for text in texts] == list(NAMES.values())
    assert not told(f"categoryId={new_id()}&search=lamp")
    assert not told("category.name=books&search=lamp")
    assert not told("category.name=books&sort=category.name")
    assert not told("stock=1", EveryTenant())
