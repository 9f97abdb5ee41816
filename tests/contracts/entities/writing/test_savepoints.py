"""Parts of a transaction: what a refused part wrote is undone, and the transaction goes on.

A refusal that code of a project catches inside its transaction leaves no part of what was refused.
"""

from decimal import Decimal
from uuid import UUID

import pytest

from application.entities.writing import Write
from application.ports.entities.idempotency import WriteTransaction
from application.ports.entities.records import Act, NewRow, Stored
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.query import WHOLE, View
from domain.errors import Conflict, PreconditionFailed, StillReferredTo
from domain.scope import OneTenant
from tests.builders import NOW, new_id
from tests.contracts.entities.writing.test_writing import ADA, HERE, IDS, Desk

ACT = Write(caller=ADA, scope=HERE).act(NOW)


@pytest.fixture
def desk(library: WholeDatabase, library_registry: Registry) -> Desk:
    return Desk(library, library_registry)


def new(desk: Desk, code: str) -> NewRow:
    return NewRow(IDS.new(), desk.values("volumes", title=code, code=code))


async def stored(library: WholeDatabase, desk: Desk, rows: list[NewRow]) -> list[bool]:
    volumes = desk.registry["volumes"]
    async with library.read_only(HERE) as read:
        return [await read.records.get(volumes, row.id, WHOLE) is not None for row in rows]


async def refused_part(tx: WriteTransaction, model: EntityModel, row: NewRow) -> None:
    async with tx.savepoint():
        await tx.records.add(model, [row], ACT)
        raise ValueError("the part is refused")


async def test_an_error_undoes_its_savepoint_and_others_remain(library: WholeDatabase, desk: Desk) -> None:
    volumes, rows = desk.registry["volumes"], [new(desk, code) for code in ("a", "b", "c", "d")]
    async with library.transaction(HERE) as tx:
        async with tx.savepoint():
            await tx.records.add(volumes, [rows[0]], ACT)
        with pytest.raises(ValueError, match="is refused"):
            await refused_part(tx, volumes, rows[1])
        async with tx.savepoint():
            await tx.records.add(volumes, [rows[2]], ACT)
        await tx.records.add(volumes, [rows[3]], ACT)
    assert await stored(library, desk, rows) == [True, False, True, True]


async def test_a_failed_statement_undoes_only_its_savepoint(library: WholeDatabase, desk: Desk) -> None:
    volumes, rows = desk.registry["volumes"], [new(desk, "a"), new(desk, "a"), new(desk, "b")]
    async with library.transaction(HERE) as tx:
        await tx.records.add(volumes, [rows[0]], ACT)
        with pytest.raises(Conflict):
            async with tx.savepoint():
                await tx.records.add(volumes, [rows[1]], ACT)
        async with tx.savepoint():
            await tx.records.add(volumes, [rows[2]], ACT)
    assert await stored(library, desk, rows) == [True, False, True]


async def test_a_rolled_back_transaction_undoes_its_savepoints(library: WholeDatabase, desk: Desk) -> None:
    row = new(desk, "a")

    async def whole() -> None:
        async with library.transaction(HERE) as tx:
            async with tx.savepoint():
                await tx.records.add(desk.registry["volumes"], [row], ACT)
            raise ValueError("the whole is refused")

    with pytest.raises(ValueError, match="the whole"):
        await whole()
    assert await stored(library, desk, [row]) == [False]


HERE_OF_CAUGHT_REFUSALS = OneTenant(new_id())
ACT_OF_CAUGHT_REFUSALS = Act(by=new_id(), at=NOW)
DELETED = View(include_deleted=True)


class Rows:
    """Rows of the catalogue and of the library; categories have no history, genres have one."""

    def __init__(self, database: WholeDatabase, registry: Registry) -> None:
        self.database = database
        self.registry = registry

    async def add(self, plural: str, **values: object) -> UUID:
        model = self.registry[plural]
        defaults = {field.name: field.default for field in model.declared if not field.required}
        async with self.database.transaction(HERE_OF_CAUGHT_REFUSALS) as tx:
            (stored,) = await tx.records.add(model, [NewRow(new_id(), {**defaults, **values})], ACT_OF_CAUGHT_REFUSALS)
        return stored.id

    async def remove(self, plural: str, *ids: UUID) -> None:
        async with self.database.transaction(HERE_OF_CAUGHT_REFUSALS) as tx:
            await tx.records.remove(self.registry[plural], ids, ACT_OF_CAUGHT_REFUSALS, None)

    async def row(self, plural: str, row_id: UUID, view: View = WHOLE) -> Stored | None:
        async with self.database.read_only(HERE_OF_CAUGHT_REFUSALS) as read:
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
    async with rows.database.transaction(HERE_OF_CAUGHT_REFUSALS) as tx:
        with pytest.raises((StillReferredTo, PreconditionFailed)):
            await tx.records.remove(model, [refused, bystander, gone], ACT_OF_CAUGHT_REFUSALS, version)
    assert [await rows.row(plural, row_id, DELETED) for row_id in (refused, bystander, gone)] == before
    assert await rows.row(plural, refused)
    assert await rows.row(plural, gone) is None


async def test_a_refused_restoration_restores_nothing(rows: Rows) -> None:
    category = await rows.add("categories", name=f"{new_id()}")
    product = await rows.add("products", sku=f"{new_id()}"[-20:], name="P", price=Decimal(1), category_id=category)
    await rows.remove("products", product)
    await rows.remove("categories", category)
    async with rows.database.transaction(HERE_OF_CAUGHT_REFUSALS) as tx:
        with pytest.raises(Conflict):
            await tx.records.restore(rows.registry["products"], product, ACT_OF_CAUGHT_REFUSALS)
    assert await rows.row("products", product) is None


@pytest.mark.parametrize("plural", ["categories", "genres"])
async def test_a_restoration_of_another_version_is_refused(rows: Rows, plural: str) -> None:
    model, row_id = rows.registry[plural], await rows.add(plural, name=f"{new_id()}")
    await rows.remove(plural, row_id)
    for version in (1, frozenset({1, 3})):
        async with rows.database.transaction(HERE_OF_CAUGHT_REFUSALS) as tx:
            with pytest.raises(PreconditionFailed):
                await tx.records.restore(model, row_id, ACT_OF_CAUGHT_REFUSALS, version)
    assert await rows.row(plural, row_id) is None
    async with rows.database.transaction(HERE_OF_CAUGHT_REFUSALS) as tx:
        assert (await tx.records.restore(model, row_id, ACT_OF_CAUGHT_REFUSALS, 2)).version == 3
    async with rows.database.transaction(HERE_OF_CAUGHT_REFUSALS) as tx:
        with pytest.raises(Conflict):
            await tx.records.restore(model, row_id, ACT_OF_CAUGHT_REFUSALS, 2)


async def test_a_transaction_continues_after_a_refused_restoration(rows: Rows) -> None:
    name = f"{new_id()}"
    row_id = await rows.add("categories", name=name)
    await rows.remove("categories", row_id)
    taken = await rows.add("categories", name=name)
    async with rows.database.transaction(HERE_OF_CAUGHT_REFUSALS) as tx:
        with pytest.raises(Conflict):
            await tx.records.restore(rows.registry["categories"], row_id, ACT_OF_CAUGHT_REFUSALS)
        await tx.records.remove(rows.registry["categories"], [taken], ACT_OF_CAUGHT_REFUSALS, None)
        await tx.records.restore(rows.registry["categories"], row_id, ACT_OF_CAUGHT_REFUSALS)
    assert await rows.row("categories", row_id)
    assert await rows.row("categories", taken) is None
