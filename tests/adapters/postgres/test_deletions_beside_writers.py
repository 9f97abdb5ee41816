"""Deletions while another transaction changes the rows that they would take along."""

import asyncio
from functools import partial
from uuid import UUID

import asyncpg

from adapters.postgres.database import PostgresDatabase
from application.ports.entities.records import Act, NewRow, Values
from domain.entities.declaration import Registry
from domain.scope import OneTenant
from tests.builders import NOW, new_id
from tests.contracts.entities.test_records_reading import PRODUCT
from tests.databases import SOMEBODY_WAITS
from tests.waiting import until

HERE = OneTenant(new_id())
ACT = Act(by=new_id(), at=NOW)


async def added(postgres: PostgresDatabase, registry: Registry, plural: str, values: Values) -> UUID:
    async with postgres.transaction(HERE) as tx:
        (stored,) = await tx.records.add(registry[plural], [NewRow(new_id(), values)], ACT)
    return stored.id


async def removed(postgres: PostgresDatabase, registry: Registry, plural: str, row_id: UUID) -> None:
    async with postgres.transaction(HERE) as tx:
        await tx.records.remove(registry[plural], [row_id], ACT, None)


async def test_a_row_that_another_moves_elsewhere_is_not_taken_along(
    postgres: PostgresDatabase, owner: "asyncpg.Connection[asyncpg.Record]", registry: Registry
) -> None:
    going, staying = [await added(postgres, registry, "products", {**PRODUCT, "sku": sku}) for sku in ("A-1", "B-1")]
    values = {"product_id": going, "rating": 5, "author": "Bob", "text": None}
    moved, left = [await added(postgres, registry, "reviews", values) for _ in range(2)]
    async with owner.transaction():
        await owner.execute("UPDATE reviews SET product_id = $1 WHERE id = $2", staying, moved)
        deleting = asyncio.create_task(removed(postgres, registry, "products", going))
        await until(partial(owner.fetchval, SOMEBODY_WAITS))
    await deleting
    deleted = await owner.fetch("SELECT id, is_deleted FROM reviews")
    assert {row["id"]: row["is_deleted"] for row in deleted} == {moved: False, left: True}
