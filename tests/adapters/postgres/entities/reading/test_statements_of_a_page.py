"""What a page costs: how many statements, whatever its rows and what is included.

Lists of related rows that are too long for PostgreSQL itself.

Filters through many relations are planned as quickly as those through a few.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal

import asyncpg
import pytest

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.entities.reading.select import page_shape
from adapters.postgres.entities.reading.select_rows import MOST_JOINED, count_statement, page_statement
from application.ports.entities.records import Act, NewRow
from domain.entities.catalogue import Status
from domain.entities.declaration import Registry
from domain.entities.query.query import Query
from domain.entities.query.read_query import read_query
from domain.errors import ValidationError
from domain.scope import OneTenant
from tests.builders import NOW, new_id
from tests.contracts.entities.reading.test_records_wide import HERE as HERE_OF_MANY_RELATIONS
from tests.contracts.entities.reading.test_records_wide import MODEL, REGISTRY, RELATIONS

HERE = OneTenant(new_id())
ACT = Act(by=None, at=NOW)
THREE = "category.products,category,reviews"


@asynccontextmanager
async def logged(connection: ServiceConnection) -> AsyncIterator[list[str]]:
    """Statements sent to the server."""
    sent: list[str] = []

    def note(record: asyncpg.connection.LoggedQuery) -> None:
        sent.append(record.query)

    with connection.query_logger(note):
        yield sent


async def fill(database: PostgresDatabase, registry: Registry, products: int) -> None:
    category = NewRow(new_id(), {"name": f"Books {products}", "description": None})
    rows = [NewRow(new_id(), product(category, number)) for number in range(products)]
    reviews = [
        NewRow(new_id(), {"product_id": row.id, "rating": 5, "author": "Ann", "text": None})
        for row in rows
        for _ in range(3)
    ]
    async with database.transaction(HERE) as tx:
        await tx.records.add(registry["categories"], [category], ACT)
        await tx.records.add(registry["products"], rows, ACT)
        await tx.records.add(registry["reviews"], reviews, ACT)


def product(category: NewRow, number: int) -> dict[str, object]:
    return {
        "name": f"Book {number}",
        "sku": f"{category.id}-{number}",
        "description": None,
        "price": 1,
        "stock": 0,
        "status": "draft",
        "category_id": category.id,
        "released_at": None,
        "photo_id": None,
    }


async def statements(database: PostgresDatabase, registry: Registry, query: Query) -> tuple[list[str], int]:
    async with database.read_only(HERE) as read:
        await read.records.page(registry["products"], query)  # the first page also counts the tenant's rows
        async with logged(read.connection) as sent:
            page = await read.records.page(registry["products"], query)
        await asyncio.sleep(0)  # the driver tells the logger in the next turn of the loop
    return sent, page.length


async def test_rows_that_end_on_the_page_are_not_counted(postgres: PostgresDatabase, registry: Registry) -> None:
    for products, number, expected in ((0, "1", 0), (60, "2", 10)):
        if products:
            await fill(postgres, registry, products)
        asked = {"pageSize": "50", "page": number, "count": "estimated"}
        query = read_query(registry["products"], registry, frozenset(), asked.items())
        sent, length = await statements(postgres, registry, query)
        assert (len(sent), length) == (1, expected), sent


@pytest.mark.promise("entities, details: the number of statements of a page does not depend on its rows and includes")
@pytest.mark.parametrize("include", ["", "category", "category,reviews", THREE])
async def test_a_page_is_one_statement_with_its_total(
    postgres: PostgresDatabase, registry: Registry, include: str
) -> None:
    sizes = []
    for products in (1, 60):
        await fill(postgres, registry, products)
        for count in ("none", "exact"):
            asked = {"pageSize": "50", "count": count, **({"include": include} if include else {})}
            query = read_query(registry["products"], registry, frozenset(), asked.items())
            sent, length = await statements(postgres, registry, query)
            assert len(sent) == 1, sent
            sizes.append(length)
            print(f"{length:3} rows, include={include or 'nothing'}, count={count}: {len(sent)} statements")  # noqa: T201  # what a page costs is to be read
    assert sizes == [1, 1, 50, 50]


@pytest.mark.promise("entities, details: the number of statements of a page does not depend on its rows and includes")
async def test_a_page_with_three_includes_is_one_statement(postgres: PostgresDatabase, registry: Registry) -> None:
    await fill(postgres, registry, 20)
    query = read_query(registry["products"], registry, frozenset(), (("include", THREE), ("count", "none")))
    (sent,), length = await statements(postgres, registry, query)
    assert length == 20
    async with postgres.read_only(HERE) as read:
        page = await read.records.page(registry["products"], query)
        assert b'"reviewsHasMore":false' in bytes(page.items)
    print(f"20 rows with {THREE}: 1 statement, {len(sent)} characters, {len(bytes(page.items))} bytes of answer")  # noqa: T201  # what a page costs is to be read


ROWS = 55
LONG = "UPDATE reviews SET text = repeat('x', 10485760)", "UPDATE products SET description = repeat('x', 10485760)"


@pytest.fixture
async def crowded(
    postgres: PostgresDatabase, registry: Registry, owner: "asyncpg.Connection[asyncpg.Record]"
) -> PostgresDatabase:
    """A product with lists of 550 MiB on two ways: its reviews, and its category's products."""
    category, product, act = new_id(), new_id(), Act(by=None, at=NOW)
    lamp = {
        "name": "Lamp",
        "price": Decimal(1),
        "stock": 0,
        "status": Status.DRAFT,
        "released_at": None,
        "photo_id": None,
    }
    review = {"product_id": product, "rating": 1, "author": "Ann", "text": None}
    async with postgres.transaction(HERE) as tx:
        await tx.records.add(registry["categories"], [NewRow(category, {"name": "Light", "description": None})], act)
        for number in range(ROWS):
            row = {**lamp, "sku": f"SKU-{number}", "category_id": category, "description": None}
            await tx.records.add(registry["products"], [NewRow(new_id() if number else product, row)], act)
            await tx.records.add(registry["reviews"], [NewRow(new_id(), review)], act)
    await owner.execute("SELECT set_config('tenantry.scope', 'every', false)")
    for statement in LONG:
        await owner.execute(statement)
    return postgres


@pytest.mark.promise("entities, details: the lists that are included in an answer have at most 32 MiB")
@pytest.mark.long  # lists a little over the bound are among the contracts of records
@pytest.mark.parametrize("include", ["reviews,category.products", "category.products.reviews"])
async def test_lists_of_more_than_a_gigabyte_are_refused(
    crowded: PostgresDatabase, registry: Registry, include: str
) -> None:
    model = registry["products"]
    query = read_query(model, registry, frozenset(), [("include", include), ("sku", "SKU-0"), ("fields", "sku")])
    async with crowded.read_only(HERE) as read:
        with pytest.raises(ValidationError) as caught:
            await read.records.page(model, query)
    assert [error.field for error in caught.value.fields] == ["include"]


def test_a_statement_joins_only_the_relations_of_its_first_filters() -> None:
    """PostgreSQL tries the orders of joins: for thirty relations it planned for seconds, each of the first times."""
    asked = {f"way_{n}.{way}code": "a" for n in range(RELATIONS) for way in ("", "way_0.", "way_1.")}
    shape = page_shape(
        HERE_OF_MANY_RELATIONS, read_query(MODEL, REGISTRY, frozenset(), [("count", "none"), *asked.items()])
    )
    for statement in (page_statement, count_statement):
        text = statement(REGISTRY, MODEL, shape).text
        assert text.count("EXISTS") == 3 * RELATIONS
        assert text.count("EXISTS") - text.count("OFFSET 0") == MOST_JOINED


def test_filters_through_few_relations_are_joined() -> None:
    asked = [(f"way_{n}.code", "a") for n in range(MOST_JOINED)]
    shape = page_shape(HERE_OF_MANY_RELATIONS, read_query(MODEL, REGISTRY, frozenset(), asked))
    assert "OFFSET 0" not in count_statement(REGISTRY, MODEL, shape).text
