"""A refusal that code of a project catches inside its transaction leaves no part of what was refused."""

from decimal import Decimal
from uuid import UUID

import pytest

from application.ports.entities.records import Act, NewRow, Stored
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.entities.query.query import WHOLE, View
from domain.errors import Conflict, PreconditionFailed, StillReferredTo
from domain.scope import OneTenant
from tests.builders import NOW, new_id

HERE = OneTenant(new_id())
ACT = Act(by=new_id(), at=NOW)
DELETED = View(include_deleted=True)


class Rows:
    """Rows of the catalogue and of the library; categories have no history, genres have one."""

    def __init__(self, database: WholeDatabase, registry: Registry) -> None:
        self.database = database
        self.registry = registry

    async def add(self, plural: str, **values: object) -> UUID:
        model = self.registry[plural]
        defaults = {field.name: field.default for field in model.declared if not field.required}
        async with self.database.transaction(HERE) as tx:
            (stored,) = await tx.records.add(model, [NewRow(new_id(), {**defaults, **values})], ACT)
        return stored.id

    async def remove(self, plural: str, *ids: UUID) -> None:
        async with self.database.transaction(HERE) as tx:
            await tx.records.remove(self.registry[plural], ids, ACT, None)

    async def row(self, plural: str, row_id: UUID, view: View = WHOLE) -> Stored | None:
        async with self.database.read_only(HERE) as read:
            return await read.records.get(self.registry[plural], row_id, view)


@pytest.fixture
def rows(library: WholeDatabase, library_registry: Registry) -> Rows:
    return Rows(library, library_registry)


async def referred_to(rows: Rows, plural: str) -> UUID:
    """A row of ``plural`` to which another row refers that forbids its deletion."""
    row_id = await rows.add(plural, name=f"{new_id()}")
    if plural == "genres":
        await rows.add("picks", genre_id=row_id)
    else:
        await rows.add("products", sku=f"{new_id()}"[-20:], name="P", price=Decimal(1), category_id=row_id)
    return row_id


@pytest.mark.parametrize("version", [None, 99], ids=["referred to", "changed since"])
@pytest.mark.parametrize("plural", ["categories", "genres"])
async def test_a_refused_deletion_deletes_nothing(rows: Rows, plural: str, version: int | None) -> None:
    model, gone = rows.registry[plural], await rows.add(plural, name=f"{new_id()}")
    await rows.remove(plural, gone)
    refused, bystander = await referred_to(rows, plural), await rows.add(plural, name=f"{new_id()}")
    before = [await rows.row(plural, row_id, DELETED) for row_id in (refused, bystander, gone)]
    async with rows.database.transaction(HERE) as tx:
        with pytest.raises((StillReferredTo, PreconditionFailed)):
            await tx.records.remove(model, [refused, bystander, gone], ACT, version)
    assert [await rows.row(plural, row_id, DELETED) for row_id in (refused, bystander, gone)] == before
    assert await rows.row(plural, refused)
    assert await rows.row(plural, gone) is None


async def test_a_refused_restoration_restores_nothing(rows: Rows) -> None:
    category = await rows.add("categories", name=f"{new_id()}")
    product = await rows.add("products", sku=f"{new_id()}"[-20:], name="P", price=Decimal(1), category_id=category)
    await rows.remove("products", product)
    await rows.remove("categories", category)
    async with rows.database.transaction(HERE) as tx:
        with pytest.raises(Conflict):
            await tx.records.restore(rows.registry["products"], product, ACT)
    assert await rows.row("products", product) is None


@pytest.mark.parametrize("plural", ["categories", "genres"])
async def test_a_restoration_of_another_version_is_refused(rows: Rows, plural: str) -> None:
    model, row_id = rows.registry[plural], await rows.add(plural, name=f"{new_id()}")
    await rows.remove(plural, row_id)
    for version in (1, frozenset({1, 3})):
        async with rows.database.transaction(HERE) as tx:
            with pytest.raises(PreconditionFailed):
                await tx.records.restore(model, row_id, ACT, version)
    assert await rows.row(plural, row_id) is None
    async with rows.database.transaction(HERE) as tx:
        assert (await tx.records.restore(model, row_id, ACT, 2)).version == 3
    async with rows.database.transaction(HERE) as tx:
        with pytest.raises(Conflict):
            await tx.records.restore(model, row_id, ACT, 2)


async def test_a_transaction_goes_on_after_a_restoration_whose_value_is_taken(rows: Rows) -> None:
    name = f"{new_id()}"
    row_id = await rows.add("categories", name=name)
    await rows.remove("categories", row_id)
    taken = await rows.add("categories", name=name)
    async with rows.database.transaction(HERE) as tx:
        with pytest.raises(Conflict):
            await tx.records.restore(rows.registry["categories"], row_id, ACT)
        await tx.records.remove(rows.registry["categories"], [taken], ACT, None)
        await tx.records.restore(rows.registry["categories"], row_id, ACT)
    assert await rows.row("categories", row_id)
    assert await rows.row("categories", taken) is None
