"""Lists of related rows that are too long for PostgreSQL itself."""

from decimal import Decimal

import asyncpg
import pytest

from adapters.postgres.database import PostgresDatabase
from application.ports.entities.records import Act, NewRow
from domain.entities.catalogue import Status
from domain.entities.declaration import Registry
from domain.entities.query.read_query import read_query
from domain.errors import ValidationError
from domain.scope import OneTenant
from tests.builders import NOW, new_id

HERE = OneTenant(new_id())
ROWS = 55
LONG = "UPDATE reviews SET text = repeat('x', 10485760)", "UPDATE products SET description = repeat('x', 10485760)"


@pytest.fixture
async def crowded(
    postgres: PostgresDatabase, registry: Registry, owner: "asyncpg.Connection[asyncpg.Record]"
) -> PostgresDatabase:
    """A product with lists of 550 MiB on two ways: its reviews, and its category's products."""
    category, product, act = new_id(), new_id(), Act(by=None, at=NOW)
    lamp = {"name": "Lamp", "price": Decimal(1), "stock": 0, "status": Status.DRAFT, "released_at": None}
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
