"""What an index finds, as the role that the service runs as."""

from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import asyncpg
import pytest
from msgspec import Struct

from adapters.postgres.database import PostgresDatabase
from adapters.postgres.entities.files.loading_statements import adopt_matching, create_incoming
from adapters.postgres.entities.reading.plans import SCANS, plans_of
from adapters.postgres.entities.writing.unique_violations import clashing_rows
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from adapters.postgres.schema.row_security import ROLE
from adapters.postgres.statements.compiled import CompiledStatement
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.declaration import Registry
from domain.entities.markers import big, entity, money, unique
from domain.entities.owning import NO_LIMITS
from domain.entities.registry import build_registry
from tests.conftest import NewDatabase


@pytest.fixture
async def planned(
    postgres: PostgresDatabase, database_url: str, registry: Registry
) -> dict[str, dict[str, str | None]]:
    made = await plans_of(database_url, registry)
    return {plural: {plan.asked: plan.scans for plan in every} for plural, every in made.items()}


async def test_references_and_uniques_are_found_by_an_index(planned: dict[str, dict[str, str | None]]) -> None:
    assert planned["products"]["categoryId=…"] is None
    assert planned["products"]["sku.eq=…"] is None
    assert planned["reviews"]["productId=…"] is None
    assert planned["products"]["page 1"] is None


@pytest.mark.promise(
    "declarations, case folding: Row-level security keeps an index from lower; a text that is unique without case has "
    "a lowered copy, by which filters, upserts and conflicts are found"
)
async def test_what_is_unique_without_case_is_found_by_the_index_over_its_copy(
    planned: dict[str, dict[str, str | None]],
) -> None:
    assert planned["categories"]["name.eq=…"] is None


class Size(Enum):
    SMALL = "small"


NAMES = ("number", "large", "price", "weight", "is_open", "opened_at", "opened_on", "outside_id", "size", "name")


@entity("numbereds", unique=[unique(name) for name in NAMES])
class Numbered(Struct, kw_only=True):
    """A unique value of each type that can be compared."""

    number: int
    large: Annotated[int, big]
    price: Annotated[Decimal, money(12, 2)]
    weight: float
    is_open: bool
    opened_at: datetime
    opened_on: date
    outside_id: UUID
    size: Size
    name: str


ONE_TENANTS_PRODUCTS = """
INSERT INTO products (id, tenant_id, name, sku, price, stock, status, created_at, updated_at, version)
SELECT gen_random_uuid(), $1, 'product ' || n, 'S-' || n, n, 1, 'draft', now(), now(), 1
FROM generate_series(1, 3000) AS n"""


async def test_a_plan_is_that_for_a_tenant_with_rows(
    postgres: PostgresDatabase, database_url: str, registry: Registry, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    """For a tenant without rows PostgreSQL would expect nothing behind the tenant's id in any index."""
    await owner.execute(ONE_TENANTS_PRODUCTS, UUID(int=7))
    await owner.execute("ANALYZE products")
    try:
        every = {plan.asked: plan.steps for plan in (await plans_of(database_url, registry))["products"]}
    finally:
        await owner.execute("DELETE FROM products; ANALYZE products")
    assert every["sku.eq=…"][-1] == "Index Scan uq_products_sku"


async def test_a_search_is_found_by_an_index(planned: dict[str, dict[str, str | None]]) -> None:
    assert planned["products"]["search=word"] is None
    assert planned["categories"]["search=word"] is None


async def test_a_search_without_its_index_is_reported_as_a_scan(
    postgres: PostgresDatabase, database_url: str, registry: Registry, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await owner.execute("ALTER INDEX ix_products_search RENAME TO put_aside")
    try:
        every = {plan.asked: plan.scans for plan in (await plans_of(database_url, registry))["products"]}
    finally:
        await owner.execute("ALTER INDEX put_aside RENAME TO ix_products_search")
    assert every["search=word"] == SCANS


@pytest.mark.promise(
    "declarations, indexes and decimals: entities --plans recommends it, and says which queries an index finds"
)
async def test_an_index_that_goes_is_missed(
    planned: dict[str, dict[str, str | None]],
    database_url: str,
    registry: Registry,
    owner: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    assert planned["reviews"]["productId=…"] is None
    await owner.execute("DROP INDEX ix_reviews_product_id_order")
    try:
        every = {plan.asked: plan.scans for plan in (await plans_of(database_url, registry))["reviews"]}
    finally:
        await owner.execute(
            "CREATE INDEX ix_reviews_product_id_order ON reviews (tenant_id, product_id, created_at, id)"
        )
    assert every["productId=…"] == SCANS


@pytest.mark.promise(
    "declarations, indexes and decimals: Row-level security keeps a decimal from its index; its scaled copy is used by "
    "conditions, sorts and cursors (speed: make bench, make scale-tenants)"
)
async def test_a_range_over_an_indexed_decimal_is_found_under_row_level_security(
    planned: dict[str, dict[str, str | None]],
) -> None:
    assert planned["products"]["categoryId=…&minPrice=…&sort=price"] is None


COPY = """
EXPLAIN SELECT FROM products WHERE tenant_id = $1 AND category_id = $1 AND NOT is_deleted AND "price$e2" > 1
ORDER BY "price$e2", id"""
DECIMAL = """
EXPLAIN SELECT FROM products WHERE tenant_id = $1 AND category_id = $1 AND NOT is_deleted AND price > 1
ORDER BY price, id"""
LOWERED = """
EXPLAIN SELECT FROM categories WHERE tenant_id = $1 AND NOT is_deleted AND "name$lower" = (SELECT lower('A'))"""
LOWER = """
EXPLAIN SELECT FROM categories WHERE tenant_id = $1 AND NOT is_deleted
AND lower(name COLLATE "default") = (SELECT lower('A'))"""
INDEX_SCANS = {"enable_seqscan": "off", "enable_bitmapscan": "off", "enable_sort": "off"}


@pytest.mark.promise(
    "declarations, indexes and decimals: Row-level security keeps a decimal from its index; its scaled copy is used by "
    "conditions, sorts and cursors (speed: make bench, make scale-tenants)"
)
async def test_row_level_security_prevents_an_index_scan_on_the_decimal_itself(
    postgres: PostgresDatabase, database_url: str, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    """The reason for the copy: where this fails, the server has learnt it, and the copy can go."""
    await owner.execute("CREATE INDEX by_price ON products (tenant_id, category_id, price, id) WHERE NOT is_deleted")
    connection = await asyncpg.connect(database_url, server_settings={"role": ROLE, **INDEX_SCANS})
    try:
        bounds = [await _index_conditions(connection, text) for text in (COPY, DECIMAL)]
    finally:
        await connection.close()
        await owner.execute("DROP INDEX by_price")
    assert ["price" in conditions for conditions in bounds] == [True, False]


@pytest.mark.promise(
    "declarations, case folding: Row-level security keeps an index from lower; a text that is unique without case has "
    "a lowered copy, by which filters, upserts and conflicts are found"
)
async def test_row_level_security_prevents_an_index_scan_on_lower(
    postgres: PostgresDatabase, database_url: str, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    """The reason for the copy: where this fails, the server has learnt it, and the copy can go."""
    await owner.execute('CREATE INDEX by_lower ON categories (tenant_id, lower(name COLLATE "default"))')
    connection = await asyncpg.connect(database_url, server_settings={"role": ROLE, **INDEX_SCANS})
    try:
        conditions = [await _index_conditions(connection, text) for text in (LOWERED, LOWER)]
    finally:
        await connection.close()
        await owner.execute("DROP INDEX by_lower")
    assert ["lower" in each for each in conditions] == [True, False]


ONE_TENANTS_CATEGORIES = """
INSERT INTO categories (id, tenant_id, name, created_at, updated_at, version)
SELECT gen_random_uuid(), $1, 'Category ' || n, now(), now(), 1 FROM generate_series(1, 3000) AS n"""
LOOK_UPS = {f"enable_{way}": "off" for way in ("seqscan", "bitmapscan", "hashjoin", "mergejoin")}


@pytest.mark.promise(
    "declarations, case folding: Row-level security keeps an index from lower; a text that is unique without case has "
    "a lowered copy, by which filters, upserts and conflicts are found"
)
async def test_keys_of_an_upsert_and_taken_values_are_found_by_the_copy(
    postgres: PostgresDatabase,
    database_url: str,
    registry: Registry,
    owner: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    """Where ``lower()`` of a column stood in the comparison, row-level security would keep the index from it."""
    model, tenant = registry["categories"], UUID(int=7)
    found: dict[CompiledStatement, dict[str, Any]] = {
        adopt_matching(registry, model, NO_LIMITS, "name"): {"tenant": tenant},
        clashing_rows(registry, model, model.unique[0]): {"tenant": tenant, "ids": [], "each_name": []},
    }
    await owner.execute(ONE_TENANTS_CATEGORIES, tenant)
    await owner.execute("ANALYZE categories")
    connection = await asyncpg.connect(database_url, server_settings={"role": ROLE, **LOOK_UPS})
    try:
        async with connection.transaction():
            await connection.execute(create_incoming(model))
            conditions = [
                await _index_conditions(connection, f"EXPLAIN {statement.text}", *statement.arguments(values))
                for statement, values in found.items()
            ]
    finally:
        await connection.close()
        await owner.execute("DELETE FROM categories; ANALYZE categories")
    assert ["name$lower" in each for each in conditions] == [True, True]


async def _index_conditions(connection: "asyncpg.Connection[asyncpg.Record]", text: str, *values: object) -> str:
    lines = [line for (line,) in await connection.fetch(text, *(values or (UUID(int=1),)))]
    return "".join(line for line in lines if "Index Cond" in line)


async def test_what_is_unique_is_planned_whatever_its_type(new_database: NewDatabase, tmp_path: Path) -> None:
    registry, folders = build_registry([*BUILTIN_ENTITIES, Numbered]), [VERSIONS, tmp_path]
    url = await new_database()
    assert await write_migration(url, registry, "numbered", folders) is not None
    await upgrade(url, registry, folders)
    every = {plan.asked: plan.scans for plan in (await plans_of(url, registry))["numbereds"]}
    asked = [f"{field.wire}.eq=…" for field in registry["numbereds"].declared]
    assert {name: every[name] for name in asked} == dict.fromkeys(asked)
