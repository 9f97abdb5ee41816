"""Parts of a transaction: what a refused part wrote is undone, and the transaction goes on."""

import pytest

from application.entities.writing import Write
from application.ports.entities.idempotency import WriteTransaction
from application.ports.entities.records import NewRow
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.query import WHOLE
from domain.errors import Conflict
from tests.builders import NOW
from tests.contracts.entities.test_writing import ADA, HERE, IDS, Desk

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


async def test_an_error_undoes_a_part_and_the_others_stay(library: WholeDatabase, desk: Desk) -> None:
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


async def test_a_failed_statement_ends_its_part_alone(library: WholeDatabase, desk: Desk) -> None:
    volumes, rows = desk.registry["volumes"], [new(desk, "a"), new(desk, "a"), new(desk, "b")]
    async with library.transaction(HERE) as tx:
        await tx.records.add(volumes, [rows[0]], ACT)
        with pytest.raises(Conflict):
            async with tx.savepoint():
                await tx.records.add(volumes, [rows[1]], ACT)
        async with tx.savepoint():
            await tx.records.add(volumes, [rows[2]], ACT)
    assert await stored(library, desk, rows) == [True, False, True]


async def test_the_whole_undoes_its_parts(library: WholeDatabase, desk: Desk) -> None:
    row = new(desk, "a")

    async def whole() -> None:
        async with library.transaction(HERE) as tx:
            async with tx.savepoint():
                await tx.records.add(desk.registry["volumes"], [row], ACT)
            raise ValueError("the whole is refused")

    with pytest.raises(ValueError, match="the whole"):
        await whole()
    assert await stored(library, desk, [row]) == [False]
