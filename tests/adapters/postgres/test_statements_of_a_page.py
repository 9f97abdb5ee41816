"""What a page costs: how many statements, whatever its rows and what is included."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.database import PostgresDatabase
from application.ports.entities.records import Act, NewRow
from domain.entities.declaration import Registry
from domain.entities.query.query import Query
from domain.entities.query.read_query import read_query
from domain.scope import OneTenant
from tests.builders import NOW, new_id

HERE = OneTenant(new_id())
ACT = Act(by=None, at=NOW)
THREE = "category.products,category,reviews"


@asynccontextmanager
async def logged(connection: ServiceConnection) -> AsyncIterator[list[str]]:
    """The statements that went to the server."""
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
    }


async def statements(database: PostgresDatabase, registry: Registry, query: Query) -> tuple[list[str], int]:
    async with database.read_only(HERE) as read, logged(read.connection) as sent:
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
