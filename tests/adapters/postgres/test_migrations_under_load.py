"""Migrations while the service goes on: tables in use are waited for in turns, and no process sees an error."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import asyncpg
import pytest
from msgspec import Struct

from adapters.memory.clock import MovableClock
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.commands import LockPatience
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import MigrationRefused
from adapters.system import Uuid7Ids
from application.entities.crud import Crud
from application.entities.writing import RowWriter, Write
from application.ports.entities.records import Change
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.declaration import Registry, big, entity, index, money
from domain.entities.query.query import Count, Operator, Query, SortKey
from domain.entities.query.query import Path as FieldPath
from domain.entities.registry import build_registry
from domain.entities.rules import OtherRows, where
from domain.errors import FieldError
from tests.adapters.postgres.changed_books import Books, declared
from tests.conftest import NewDatabase
from tests.contracts.entities.test_writing import ADA, HERE


@entity("books", search=["title"])
class OldBook(Struct, kw_only=True):
    title: str
    price: Annotated[Decimal, money(8, 2)]
    pages: int = 0

    async def check_stored(self, _before: "OldBook | None", rows: OtherRows) -> AsyncIterator[FieldError]:
        """A rule that reads other rows: each write is a transaction of several statements."""
        for book in await rows.all(OldBook, where("pages", Operator.EQ, -1)):
            yield FieldError("pages", f"{book.title} has no pages.")


@entity("books", search=["title"], indexes=[index("shelf", "pages")])
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
BY_ID = (SortKey(FieldPath((), "id"), descending=False),)


@pytest.fixture
async def books(new_database: NewDatabase, tmp_path: Path) -> Books:
    return Books(await new_database(), tmp_path)


@asynccontextmanager
async def in_use(books: Books) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """Somebody reads the table in a transaction that does not end, as an export does."""
    connection = await asyncpg.connect(books.url)
    try:
        async with connection.transaction():
            await connection.execute("SELECT FROM books")
            yield connection
    finally:
        await connection.close()


async def test_a_table_that_stays_in_use_is_named_and_nothing_is_changed(books: Books) -> None:
    await books.migrate(declared([("title", str)]))
    changed = declared([("title", str), ("pages", int | None, None)])
    await books.write(changed)
    async with in_use(books):
        with pytest.raises(
            MigrationRefused, match=r"line \d+, cannot be applied.*2 times .* free within 0\.02 seconds"
        ):
            await upgrade(books.url, changed, books.folders, LockPatience(seconds=0.02, pause=0, tries=2))
    await books.apply(changed)


async def test_while_a_migration_waits_nobody_waits_behind_it_for_long(books: Books) -> None:
    await books.migrate(declared([("title", str)]))
    changed = declared([("title", str), ("pages", int | None, None)])
    await books.write(changed)
    async with in_use(books) as connection:
        patience = LockPatience(seconds=0.2, pause=0.05, tries=1000)
        migration = asyncio.create_task(upgrade(books.url, changed, books.folders, patience))
        for _ in range(3):
            while not await connection.fetchval("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"):
                assert not migration.done()
            # this read waits behind the migration, until that gives up its turn
            await books.ask("SELECT FROM books")
        assert not migration.done()
    assert await migration == []


@dataclass(frozen=True)
class Process:
    """What a server process does with the database, by its own declaration."""

    crud: Crud
    registry: Registry

    async def work(self, until: asyncio.Event) -> int:
        """Adds, changes and reads rows until the event, and ``ROUNDS`` times after it; returns the number of rounds."""
        model, write = self.registry["books"], Write(caller=ADA, scope=HERE)
        given = {field.name: field.default for field in model.declared if not field.required}
        rounds, left = 0, ROUNDS
        while left:
            left -= until.is_set()
            rounds += 1
            values: dict[str, Any] = {**given, "title": f"T{rounds}", "price": Decimal("1.25"), "pages": rounds}
            stored = (await self.crud.create(write, model, values)).answer
            await self.crud.update(write, model, Change(stored.id, {"pages": rounds + 1}))
            page = await self.crud.page(HERE, model, Query(sort=BY_ID, page_size=5, count=Count.NONE))
            assert page.length > 0
        return rounds


@asynccontextmanager
async def process(books: Books, registry: Registry) -> AsyncIterator[Process]:
    database = PostgresDatabase(books.url, registry, Uuid7Ids(), connections=CLIENTS)
    await database.open()
    try:
        yield Process(Crud(database, RowWriter(database, registry, MovableClock()), Uuid7Ids()), registry)
    finally:
        await database.close()


async def test_old_and_new_processes_go_on_through_a_migration(books: Books) -> None:
    await write_migration(books.url, OLD, "books", books.folders)
    await books.apply(OLD)
    migrated, ended = asyncio.Event(), asyncio.Event()
    async with process(books, OLD) as old, asyncio.TaskGroup() as group:
        working = [group.create_task(old.work(ended)) for _ in range(CLIENTS)]
        await write_migration(books.url, NEW, "more of books", books.folders)
        assert await upgrade(books.url, NEW, books.folders) == []
        migrated.set()
        async with process(books, NEW) as new:
            newer = [group.create_task(new.work(migrated)) for _ in range(CLIENTS)]
            await asyncio.gather(*newer)
        ended.set()
    rounds = sum(task.result() for task in (*working, *newer))
    assert await books.ask("SELECT count(*), min(price), bool_and(shelf = 'none') FROM books") == [
        (rounds, Decimal("1.25"), True)
    ]
