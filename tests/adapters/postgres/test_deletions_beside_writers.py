"""Deletions while another transaction changes the rows that they would take along."""

import asyncio
from functools import partial
from uuid import UUID

import asyncpg
import pytest

from adapters.postgres.database import PostgresDatabase
from application.ports.entities.records import Act, NewRow, Values
from domain.entities.declaration import Registry
from domain.errors import PreconditionFailed
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


async def removed(
    postgres: PostgresDatabase, registry: Registry, plural: str, row_id: UUID, version: int | None = None
) -> None:
    async with postgres.transaction(HERE) as tx:
        await tx.records.remove(registry[plural], [row_id], ACT, version)


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


@pytest.mark.parametrize("plural", ["products", "categories"])  # without a history, and with one
async def test_the_version_is_that_of_the_writer_who_was_waited_for(
    postgres: PostgresDatabase, owner: "asyncpg.Connection[asyncpg.Record]", registry: Registry, plural: str
) -> None:
    values = {"products": PRODUCT, "categories": {"name": "Lamps", "description": None}}[plural]
    row_id = await added(postgres, registry, plural, values)
    async with owner.transaction():
        await owner.execute(f"UPDATE {plural} SET version = 2 WHERE id = $1", row_id)
        refused = asyncio.create_task(removed(postgres, registry, plural, row_id, version=1))
        await until(partial(owner.fetchval, SOMEBODY_WAITS))
    with pytest.raises(PreconditionFailed):
        await refused
    state = f"SELECT is_deleted, version, deleted_with FROM {plural} WHERE id = $1"
    assert tuple(await owner.fetchrow(state, row_id) or ()) == (False, 2, None)
    await removed(postgres, registry, plural, row_id, version=2)
    assert tuple(await owner.fetchrow(state, row_id) or ()) == (True, 3, row_id)


async def test_a_row_is_locked_marked_and_looked_for_in_two_statements(
    postgres: PostgresDatabase, registry: Registry
) -> None:
    going, sent = await added(postgres, registry, "products", PRODUCT), list[str]()
    async with postgres.transaction(HERE) as tx:
        with tx.connection.query_logger(lambda record: sent.append(record.query)):
            await tx.records.remove(registry["products"], [going], ACT, None)
    assert [("UPDATE products" in text, "FROM reviews" in text) for text in sent] == [(True, False), (False, True)]
