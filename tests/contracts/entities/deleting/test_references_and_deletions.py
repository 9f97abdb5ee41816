"""A write that refers to a row, and a deletion of that row at the same time: one of the two waits for the other.

No live row refers to a deleted one, whichever comes first.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from adapters.postgres.database import PostgresDatabase
from adapters.postgres.transaction import PostgresTransaction
from application.ports.entities.files import Loading
from application.ports.entities.records import Act, Change, NewRow
from domain.entities.declaration import Registry
from domain.entities.files.csv_rows import written
from domain.errors import Error
from tests.builders import NOW, new_id
from tests.contracts.entities.writing.test_writing import HERE, Desk
from tests.servers.databases import SOMEBODY_WAITS
from tests.waiting import until

ACT = Act(by=None, at=NOW)
DANGLING = """
SELECT count(*) FROM volumes v JOIN shelves s ON s.id = v.shelf_id WHERE s.is_deleted AND NOT v.is_deleted"""


class Shelves:
    """A shelf inside another one, a volume on neither, and a deleted volume on the inner one."""

    outer: UUID
    inner: UUID
    volume: UUID
    deleted: UUID

    def __init__(self, database: PostgresDatabase, registry: Registry) -> None:
        self.database, self.registry = database, registry
        self.shelves, self.volumes = registry["shelves"], registry["volumes"]
        self.desk = Desk(database, registry)

    async def fill(self) -> None:
        self.outer = (await self.desk.create("shelves", name="outer")).id
        self.inner = (await self.desk.create("shelves", name="inner", inside_id=self.outer)).id
        self.volume = (await self.desk.create("volumes", title="A")).id
        self.deleted = (await self.desk.create("volumes", title="B", shelf_id=self.inner)).id
        async with self.database.transaction(HERE) as tx:
            await tx.records.remove(self.volumes, [self.deleted], ACT, None)

    def new_row(self, title: str) -> NewRow:
        return NewRow(new_id(), self.desk.values("volumes", title=title, shelf_id=self.inner))

    async def create(self, tx: PostgresTransaction) -> None:
        await tx.records.add(self.volumes, [self.new_row("C")], ACT)

    async def create_two(self, tx: PostgresTransaction) -> None:
        await tx.records.add(self.volumes, [self.new_row("C"), self.new_row("D")], ACT)

    async def move(self, tx: PostgresTransaction) -> None:
        await tx.records.change(self.volumes, [Change(self.volume, {"shelf_id": self.inner})], ACT)

    async def restore(self, tx: PostgresTransaction) -> None:
        await tx.records.restore(self.volumes, self.deleted, ACT)

    async def load(self, tx: PostgresTransaction) -> None:
        row = self.new_row("C")
        line = written(["1", str(row.id), *(_text(row.values[name]) for name in self.volumes.names)])

        async def pieces() -> AsyncIterator[bytes]:
            yield line.encode()

        await tx.transfers.load(self.volumes, pieces(), Loading(ACT, None))

    async def delete(self, tx: PostgresTransaction) -> None:
        await tx.records.remove(self.shelves, [self.inner], ACT, None)

    async def delete_two(self, tx: PostgresTransaction) -> None:
        await tx.records.remove(self.shelves, [self.outer, self.inner], ACT, None)

    async def delete_outer(self, tx: PostgresTransaction) -> None:
        await tx.records.remove(self.shelves, [self.outer], ACT, None)

    async def purge(self, tx: PostgresTransaction) -> None:
        await tx.records.purge(self.shelves, [self.inner], ACT, None)

    async def attempt(self, write: Callable[[PostgresTransaction], Awaitable[None]]) -> bool:
        try:
            async with self.database.transaction(HERE) as tx:
                await write(tx)
        except Error:
            return False
        return True


def _text(value: object) -> str | None:
    return None if value is None else str(getattr(value, "value", value))


REFERRING = ("create", "create_two", "move", "restore", "load")
DELETING = ("delete", "delete_two", "delete_outer", "purge")


@pytest.fixture
async def shelves(postgres_library: PostgresDatabase, library_registry: Registry) -> Shelves:
    made = Shelves(postgres_library, library_registry)
    await made.fill()
    return made


@pytest.mark.parametrize("deleting", DELETING)
@pytest.mark.parametrize("referring", REFERRING)
@pytest.mark.parametrize("is_deleted_first", [False, True])
async def test_no_live_row_refers_to_a_deleted_one(
    shelves: Shelves, referring: str, deleting: str, *, is_deleted_first: bool
) -> None:
    names = (deleting, referring) if is_deleted_first else (referring, deleting)
    first, second = (getattr(shelves, name) for name in names)
    async with shelves.database.transaction(HERE) as tx:
        await first(tx)
        waiting = asyncio.create_task(shelves.attempt(second))
        await until(partial(tx.connection.fetchval, SOMEBODY_WAITS))
    is_done: Any = await waiting
    async with shelves.database.read_only(HERE) as read:
        assert await read.connection.fetchval(DANGLING) == 0
    # a deletion takes along what has just come to refer to the shelf; a reference to a deleted shelf is refused
    assert is_done is (not is_deleted_first or referring == "load")


@pytest.mark.parametrize("referring", REFERRING)
async def test_a_row_can_be_changed_while_others_begin_to_refer_to_it(shelves: Shelves, referring: str) -> None:
    async with shelves.database.transaction(HERE) as tx:
        await getattr(shelves, referring)(tx)
        async with shelves.database.transaction(HERE) as other:
            await other.records.change(shelves.shelves, [Change(shelves.inner, {"name": "changed"})], ACT)
            changes = [Change(shelves.inner, {"name": "again"}), Change(shelves.outer, {"name": "too"})]
            await other.records.change(shelves.shelves, changes, ACT)
