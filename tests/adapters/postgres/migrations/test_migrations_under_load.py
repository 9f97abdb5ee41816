"""Migrations while the service goes on: tables in use are waited for in turns, and no process sees an error."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path

import asyncpg
import pytest

from adapters.postgres.migrations.commands import LockPatience
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import MigrationRefused
from tests.adapters.postgres.migrations.changed_books import Books, declared
from tests.adapters.postgres.migrations.working_process import CLIENTS, NEW, OLD, ROUNDS
from tests.conftest import NewDatabase
from tests.entrypoints.processes import ROOT
from tests.servers.databases import SOMEBODY_WAITS

pytestmark = pytest.mark.end_to_end


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


@pytest.mark.promise("migrations, under traffic: a table that stays in use is named, and nothing is changed")
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


async def test_a_file_with_a_rename_is_not_written_while_the_table_stays_in_use(books: Books) -> None:
    await books.start(declared([("code", str)]))
    changed, patience = declared([("sku", str)]), LockPatience(seconds=0.02, pause=0, tries=2)
    async with in_use(books):
        with pytest.raises(MigrationRefused, match=r"nothing was changed: .*2 times .* free within 0\.02 seconds"):
            await write_migration(books.url, changed, "sku", books.folders, ["code=sku"], patience)
    assert list(books.folder.iterdir()) == []
    await books.migrate(changed, "code=sku")


@pytest.mark.promise(
    "migrations, under traffic: a migration waits for a table for so long, gives its turn up, and tries again; whoever "
    "waits behind it goes on"
)
async def test_a_migration_that_waits_for_a_lock_does_not_block_others_for_long(books: Books) -> None:
    await books.migrate(declared([("title", str)]))
    changed = declared([("title", str), ("pages", int | None, None)])
    await books.write(changed)
    async with in_use(books) as connection:
        patience = LockPatience(seconds=0.2, pause=0.05, tries=1000)
        migration = asyncio.create_task(upgrade(books.url, changed, books.folders, patience))
        for _ in range(3):
            while not await connection.fetchval(SOMEBODY_WAITS):
                assert not migration.done()
            # this read waits behind the migration, until that gives up its turn
            await books.ask("SELECT FROM books")
        assert not migration.done()
    assert await migration == []


@asynccontextmanager
async def working(books: Books, which: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process of its own that writes and reads by the old or the new declaration."""
    command = [sys.executable, "-m", "tests.adapters.postgres.migrations.working_process", books.url, which]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    assert process.stdout is not None
    try:
        assert (await process.stdout.readline()).strip() == b"working", (await process.communicate())[1].decode()
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def rounds_of(process: asyncio.subprocess.Process) -> int:
    """Ends the work, which fails with the first error of any request, and returns the number of its rounds."""
    out, errors = await process.communicate(b"")  # without input it would be left open
    assert process.returncode == 0, errors.decode()
    return int(out)


@pytest.mark.promise(
    "migrations, under traffic: Old and new processes serve one database through such a migration under load without "
    "an error"
)
async def test_old_and_new_processes_go_on_through_a_migration(books: Books) -> None:
    await write_migration(books.url, OLD, "books", books.folders)
    await books.apply(OLD)
    async with working(books, "old") as old:
        written = await write_migration(books.url, NEW, "more of books", books.folders)
        assert written is not None
        assert written.after is not None
        assert await upgrade(books.url, NEW, books.folders) == []
        async with working(books, "new") as new:
            rounds = await rounds_of(new)
            assert rounds >= CLIENTS * ROUNDS
            rounds += await rounds_of(old)
    assert await books.ask("SELECT count(*), min(price), bool_and(shelf = 'none') FROM books") == [
        (rounds, Decimal("1.25"), True)
    ]
    assert await books.ask("SELECT bool_and(indisvalid) FROM pg_index WHERE indrelid = 'books'::regclass") == [(True,)]
