"""A process that works with books by one of two declarations: ``python -m … URL old|new`` until its input ends."""

import asyncio
import sys
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Annotated, Any

from msgspec import Struct

from adapters.memory.clock import MovableClock
from adapters.postgres.database import PostgresDatabase
from adapters.system import Uuid7Ids
from application.entities.crud import Crud
from application.entities.writing import RowWriter, Write
from application.ports.entities.records import Change
from application.primary_reads import PrimaryReads
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.declaration import Registry
from domain.entities.markers import big, entity, index, money, unique
from domain.entities.query.query import Count, Operator, Path, Query, SortKey
from domain.entities.registry import build_registry
from domain.entities.rules import OtherRows, where
from domain.errors import FieldError
from tests.contracts.entities.writing.test_writing import ADA, HERE


@entity("books", search=["title"])
class OldBook(Struct, kw_only=True):
    title: str
    price: Annotated[Decimal, money(8, 2)]
    pages: int = 0

    async def check_stored(self, _before: "OldBook | None", rows: OtherRows) -> AsyncIterator[FieldError]:
        """A rule that reads other rows: each write is a transaction of several statements."""
        for book in await rows.all(OldBook, where("pages", Operator.EQ, -1)):
            yield FieldError("pages", f"{book.title} has no pages.")


@entity("books", search=["title"], indexes=[index("shelf", "pages")], unique=[unique("title")])
class NewBook(Struct, kw_only=True):
    title: str
    price: Annotated[Decimal, money(10, 2)]
    pages: Annotated[int, big] = 0
    shelf: str = "none"
    isbn: str | None = None

    async def check_stored(self, _before: "NewBook | None", rows: OtherRows) -> AsyncIterator[FieldError]:
        for book in await rows.all(NewBook, where("pages", Operator.EQ, -1)):
            yield FieldError("pages", f"{book.title} has no pages.")


OLD = build_registry([*ENTITIES, *BUILTIN_ENTITIES, OldBook])
NEW = build_registry([*ENTITIES, *BUILTIN_ENTITIES, NewBook])
CLIENTS, ROUNDS = 3, 8
BY_ID = (SortKey(Path((), "id"), descending=False),)


async def work(crud: Crud, registry: Registry, name: str, until: asyncio.Event) -> int:
    """Adds, changes and reads rows until the event, and ``ROUNDS`` times after it; returns the number of rounds."""
    model, write = registry["books"], Write(caller=ADA, scope=HERE)
    given = {field.name: field.default for field in model.declared if not field.required}
    rounds, left = 0, ROUNDS
    while left:
        left -= until.is_set()
        rounds += 1
        values: dict[str, Any] = {**given, "title": f"{name} {rounds}", "price": Decimal("1.25"), "pages": rounds}
        stored = (await crud.create(write, model, values)).answer
        await crud.update(write, model, Change(stored.id, {"pages": rounds + 1}))
        page = await crud.page(HERE, model, Query(sort=BY_ID, page_size=5, count=Count.NONE))
        assert page.length > 0
    return rounds


async def main(url: str, which: str) -> None:
    registry, ended = {"old": OLD, "new": NEW}[which], asyncio.Event()
    database = PostgresDatabase(url, registry, Uuid7Ids(), connections=CLIENTS)
    await database.open()
    crud = Crud(PrimaryReads(database), RowWriter(database, registry, MovableClock()), Uuid7Ids())
    async with asyncio.TaskGroup() as group:
        working = [group.create_task(work(crud, registry, f"{which} {n}", ended)) for n in range(CLIENTS)]
        sys.stdout.write("working\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)
        ended.set()
    await database.close()
    sys.stdout.write(f"{sum(task.result() for task in working)}\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
