"""Rows of tenants on a cluster: what is written on one node is read there, by its tenant alone."""

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any
from uuid import UUID

import asyncpg
import pytest
import sqlalchemy as sa

from adapters.postgres.database import PostgresDatabase
from application.ports.entities.files import Loaded, Loading
from application.ports.entities.records import Act, Change, NewRow
from domain.entities.catalogue import Status
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.query import View
from domain.entities.query.read_query import read_query
from domain.errors import BadRequest, Conflict, PreconditionFailed, StillReferredTo, ValidationError
from domain.scope import EveryTenant, OneTenant, Scope
from tests.builders import NOW, new_id

pytestmark = pytest.mark.citus

ACT = Act(by=None, at=NOW)


def values(model: EntityModel, **given: Any) -> dict[str, Any]:
    return {**dict.fromkeys(model.names), **given}


def product(registry: Registry, **given: Any) -> NewRow:
    usual = {"name": "lamp", "sku": new_id().hex, "price": Decimal("1.50"), "stock": 1, "status": Status.DRAFT}
    return NewRow(new_id(), values(registry["products"], **{**usual, **given}))


async def category(database: PostgresDatabase, registry: Registry, scope: Scope, name: str = "Books") -> UUID:
    row = NewRow(new_id(), values(registry["categories"], name=name))
    async with database.transaction(scope) as tx:
        await tx.records.add(registry["categories"], [row], ACT)
    return row.id


async def seen(database: PostgresDatabase, registry: Registry, scope: Scope, plural: str, **asked: str) -> Any:
    query = read_query(registry[plural], registry, frozenset(), tuple(asked.items()))
    async with database.read_only(scope) as read:
        return await read.records.page(registry[plural], query)


async def test_a_row_is_written_read_changed_deleted_and_restored(
    database: PostgresDatabase, registry: Registry
) -> None:
    here, products = OneTenant(new_id()), registry["products"]
    row = product(registry, category_id=await category(database, registry, here))
    async with database.autocommit(here) as tx:
        await tx.records.add(products, [row], ACT)
        (changed,) = await tx.records.change(products, [Change(row.id, {"stock": 4}, 1)], ACT)
        assert changed.version == 2
        with pytest.raises(PreconditionFailed):
            await tx.records.change(products, [Change(row.id, {"stock": 5}, 1)], ACT)
    async with database.read_only(here) as read:
        found = await read.records.get(products, row.id, View(include=(("category",),)))
    assert found is not None
    assert b'"stock":4' in bytes(found.body)
    assert b'"name":"Books"' in bytes(found.body)
    async with database.transaction(here) as tx:
        assert await tx.records.remove(products, [row.id], ACT, None) == [row.id]
    assert (await seen(database, registry, here, "products")).total == 0
    async with database.transaction(here) as tx:
        assert (await tx.records.restore(products, row.id, ACT)).version == 4
    async with database.transaction(here) as tx:
        assert await tx.records.purge(products, [row.id], ACT, None) == [row.id]
    assert (await seen(database, registry, here, "products", includeDeleted="true")).total == 0


async def test_a_batch_is_written_and_its_pages_are_filtered(database: PostgresDatabase, registry: Registry) -> None:
    here, products = OneTenant(new_id()), registry["products"]
    parent = await category(database, registry, here)
    rows = [product(registry, name=f"lamp {n}", price=Decimal(n), category_id=parent) for n in range(30)]
    async with database.transaction(here) as tx:
        assert len(await tx.records.add(products, rows, ACT)) == 30
        await tx.records.change(products, [Change(row.id, {"stock": 9}, None) for row in rows[:3]], ACT)
    assert (await seen(database, registry, here, "products", stock="9", include="category,reviews")).total == 3
    assert (await seen(database, registry, here, "products", search="lamp")).total == 30
    assert (await seen(database, registry, here, "products", **{"name.contains": "lamp 2"})).total == 11
    listed = await seen(database, registry, here, "products", **{"category.name": "Books", "sort": "price:desc"})
    assert (listed.total, listed.length) == (30, 20)
    assert (await seen(database, registry, here, "categories", include="products.reviews")).length == 1


async def test_an_import_creates_rows_and_counts_the_skipped_ones(
    database: PostgresDatabase, registry: Registry
) -> None:
    here = OneTenant(new_id())
    await category(database, registry, here)

    async def rows() -> AsyncIterator[bytes]:
        yield "".join(f'{n},{new_id()},"{name}",\n' for n, name in ((2, "Books"), (3, "Lamps"), (4, "Lamps"))).encode()

    async with database.transaction(here) as tx:
        loaded = await tx.transfers.load(registry["categories"], rows(), Loading(ACT, None))
    assert loaded == Loaded(1, 2, [])
    assert (await seen(database, registry, here, "categories")).total == 2


async def test_errors_name_the_field_and_not_the_shard(database: PostgresDatabase, registry: Registry) -> None:
    here, categories = OneTenant(new_id()), registry["categories"]
    parent = await category(database, registry, here)
    with pytest.raises(Conflict) as taken:
        await category(database, registry, here)
    assert [error.field for error in taken.value.fields] == ["name"]
    with pytest.raises(ValidationError) as dangling:
        async with database.transaction(here) as tx:
            await tx.records.add(registry["products"], [product(registry, category_id=new_id())], ACT)
    assert [error.field for error in dangling.value.fields] == ["categoryId"]
    other = await category(database, registry, here, "Toys")
    async with database.transaction(here) as tx:
        await tx.records.add(registry["products"], [product(registry, category_id=parent)], ACT)
    with pytest.raises(StillReferredTo):
        async with database.transaction(here) as tx:
            await tx.records.remove(categories, [parent], ACT, None)
    swapped = [Change(parent, {"name": "Toys"}, None), Change(other, {"name": "Books"}, None)]
    back = [Change(parent, {"name": "Books"}, None), Change(other, {"name": "Toys"}, None)]
    async with database.transaction(here) as tx:
        assert len(await tx.records.change(categories, swapped, ACT)) == 2
    async with database.autocommit(here) as tx:
        assert len(await tx.records.change(categories, back, ACT)) == 2


async def test_a_history_is_on_the_node_of_its_row(database: PostgresDatabase, registry: Registry) -> None:
    here, categories = OneTenant(new_id()), registry["categories"]
    row_id = await category(database, registry, here)
    async with database.transaction(here) as tx:
        await tx.records.change(categories, [Change(row_id, {"name": "Toys"}, 1)], ACT)
    async with database.read_only(here) as read:
        entries, total = await read.history.page(categories, row_id, 0, 20)
    assert ([entry.action for entry in entries], total) == (["changed", "created"], 2)


async def test_a_tenant_sees_its_rows_alone(database: PostgresDatabase, registry: Registry) -> None:
    here, there = OneTenant(new_id()), OneTenant(new_id())
    row_id = await category(database, registry, here)
    await category(database, registry, there)
    for scope, found in ((here, {here.id}), (there, {there.id})):
        async with database.read_only(scope) as read:
            rows = await read.connection.fetch("SELECT tenant_id FROM categories")
        assert {row["tenant_id"] for row in rows} == found
    async with database.read_only(there) as read:
        assert await read.records.get(registry["categories"], row_id, View()) is None
    every = await seen(database, registry, EveryTenant(), "categories")
    assert every.total is not None
    assert every.total >= 2


async def test_a_node_that_knows_no_tenant_raises(database: PostgresDatabase, registry: Registry) -> None:
    await category(database, registry, OneTenant(new_id()))
    async with database.read_only(OneTenant(new_id())) as read:
        # The setting of a session does not reach the nodes.
        plain = read.connection.unwrapped
        await asyncpg.Connection.execute(plain, f"SET tenantry.scope = '{new_id()}'")
        with pytest.raises(asyncpg.PostgresError, match=r"tenantry|uuid"):
            await asyncpg.Connection.fetch(plain, "SELECT FROM categories")
        await asyncpg.Connection.execute(plain, "RESET tenantry.scope")


async def test_a_deletion_cascades_to_the_rows_that_refer_to_it(database: PostgresDatabase, registry: Registry) -> None:
    here, products, reviews = OneTenant(new_id()), registry["products"], registry["reviews"]
    rows = [product(registry), product(registry)]
    referring = [
        NewRow(new_id(), values(reviews, product_id=row.id, rating=5, author="Ada")) for row in rows for _ in range(3)
    ]
    async with database.transaction(here) as tx:
        await tx.records.add(products, rows, ACT)
        await tx.records.add(reviews, referring, ACT)
    async with database.transaction(here) as tx:
        await tx.records.remove(products, [row.id for row in rows], ACT, None)
    assert (await seen(database, registry, here, "reviews")).total == 0
    async with database.transaction(here) as tx:
        await tx.records.restore(products, rows[0].id, ACT)
    assert (await seen(database, registry, here, "reviews")).total == 3
    async with database.transaction(here) as tx:
        await tx.records.purge(products, [row.id for row in rows], ACT, None)
    assert (await seen(database, registry, here, "reviews", includeDeleted="true")).total == 0


async def test_a_transaction_for_all_tenants_writes_node_after_node(database: PostgresDatabase) -> None:
    for scope, mode in ((EveryTenant(), "sequential"), (OneTenant(new_id()), "parallel")):
        async with database.transaction(scope) as tx:
            assert await tx.connection.fetchval("SHOW citus.multi_shard_modify_mode") == mode


async def test_what_citus_cannot_answer_is_refused(database: PostgresDatabase, registry: Registry) -> None:
    with pytest.raises(BadRequest, match="Citus"):
        await seen(database, registry, EveryTenant(), "products", include="category")


async def test_own_queries_see_the_rows_of_their_tenant(database: PostgresDatabase, registry: Registry) -> None:
    here, there = OneTenant(new_id()), OneTenant(new_id())
    for scope in (here, there):
        await category(database, registry, scope)
    for scope in (here, there, here):
        async with database.session(scope) as session:
            assert await session.scalar(sa.text("SELECT tenant_id FROM categories")) == scope.id
            await session.execute(sa.text("UPDATE categories SET name = 'x' WHERE tenant_id = :id"), {"id": scope.id})
            await session.commit()
