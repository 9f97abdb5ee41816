"""Migrations beside reads and writes: no statement keeps others out, and each can be begun again after a failure."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Annotated
from uuid import UUID, uuid4

import asyncpg
import pytest
from advanced_alchemy.alembic.commands import AlembicCommands
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, text

from adapters.postgres.migrations.commands import LockPatience, run_command
from adapters.postgres.migrations.migrate import discard, downgrade, pending_sql, upgrade, write_migration
from adapters.postgres.migrations.online.operations import by_itself
from adapters.postgres.migrations.pending import MigrationRefused, pending
from adapters.postgres.schema.schema import metadata_for
from domain.entities.markers import index, ref, unique
from tests.adapters.postgres.migrations.changed_books import Books, Fields, declared
from tests.servers.databases import SOMEBODY_WAITS
from tests.waiting import HUNG_AFTER

FIELDS: Fields = [("title", str), ("pages", int | None, None), ("category_id", UUID | None, None)]
BEFORE = declared(FIELDS)
AFTER = declared(
    [
        ("title", str),
        ("pages", int),
        ("category_id", Annotated[UUID | None, ref("categories")], None),
        ("isbn", str, ""),
    ],
    unique=[unique("title")],
    indexes=[index("pages")],
)
STATE = """
SELECT (SELECT bool_and(indisvalid) FROM pg_index WHERE indrelid = 'books'::regclass),
(SELECT count(*) FROM pg_index WHERE indrelid = 'books'::regclass),
(SELECT bool_and(convalidated) FROM pg_constraint WHERE conrelid = 'books'::regclass),
(SELECT count(*) FROM pg_constraint WHERE conrelid = 'books'::regclass AND contype IN ('f', 'c')),
(SELECT attnotnull FROM pg_attribute WHERE attrelid = 'books'::regclass AND attname = 'pages')"""


@pytest.fixture
async def books(books: Books) -> Books:
    await books.start(BEFORE)
    await books.add({"title": "a", "pages": 1}, {"title": "b", "pages": 2})
    return books


@pytest.mark.promise(
    "migrations, under traffic: References and NOT NULL are made not valid, then validated, in a second file; both "
    "files name their locks"
)
async def test_operations_that_read_all_rows_are_in_a_second_file_and_both_name_their_locks(books: Books) -> None:
    written = await books.write(AFTER)
    assert written.after is not None
    first, second = written.path.read_text(), written.after.read_text()
    assert "# - books: reads and writes wait for a moment: the column isbn is added" in first
    assert ("online = True" in first, "online = True" in second) == (False, True)
    calls = [line.strip().partition("(")[::2] for line in second.splitlines() if "_online('" in line]
    assert [(name, rest.split("'")[1]) for name, rest in calls] == [
        ("set_not_null_online", "books"),
        ("create_index_online", "ix_books_by_pages"),
        ("create_index_online", "ix_books_category_id"),
        ("create_index_online", "uq_books_title"),
        ("create_foreign_key_online", "fk_books_category_id"),
    ]
    assert second.count("# - books: nobody waits, but for a moment") == 5
    await books.apply(AFTER)
    assert await books.ask(STATE) == [(True, 5, True, 1, True)]
    assert await write_migration(books.url, AFTER, "again", books.folders) is None


@pytest.mark.promise(
    "migrations, workflow: a file is undone by its downgrade, with defaults and renames, and applied again"
)
async def test_both_files_are_taken_back_and_undone_by_one_command(books: Books) -> None:
    written = await books.write(AFTER)
    assert await discard(books.url, books.folders) == [written.path, written.after]
    assert list(books.folder.glob("*.py")) == []
    again = await books.migrate(AFTER)
    assert await downgrade(books.url, AFTER, books.folders) == [again.path, again.after]
    assert await books.ask(STATE) == [(True, 2, True, 0, False)]
    with pytest.raises(MigrationRefused, match="nothing to undo"):
        await downgrade(books.url, AFTER, books.folders)
    await books.apply(AFTER)
    assert await books.ask(STATE) == [(True, 5, True, 1, True)]


@pytest.mark.promise(
    "migrations, workflow: the printed SQL makes the database when it is run as it is, nothing concurrent inside a "
    "transaction"
)
async def test_printed_sql_builds_nothing_concurrently_inside_a_transaction(books: Books) -> None:
    await books.write(AFTER)
    printed = await pending_sql(books.url, AFTER, books.folders)
    is_open, outside = False, list[str]()
    for line in printed.splitlines():
        is_open = (is_open or line == "BEGIN;") and line != "COMMIT;"
        outside += [line.split()[0]] if line and not is_open and line != "COMMIT;" else []
        assert not (is_open and ("CONCURRENTLY" in line or "VALIDATE" in line)), line
    assert outside == ["ALTER", "CREATE", "CREATE", "CREATE", "ALTER"]
    # and it can be run as it is
    connection = await asyncpg.connect(books.url, server_settings={"tenantry.scope": "every"})
    for statement in printed.split(";\n"):
        await connection.execute(statement)
    await connection.close()
    assert await pending(books.url, AFTER, books.folders) == []
    assert await books.ask(STATE) == [(True, 5, True, 1, True)]


@asynccontextmanager
async def writer(books: Books) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A transaction that has written a row, and goes on."""
    connection = await asyncpg.connect(books.url, server_settings={"tenantry.scope": "every"})
    try:
        async with connection.transaction():
            await connection.execute("UPDATE books SET pages = 3 WHERE title = 'a'")
            yield connection
    finally:
        await connection.close()


@pytest.mark.promise(
    "migrations, under traffic: Indexes of tables that are there are built concurrently, outside the transaction; "
    "others read and write meanwhile"
)
async def test_others_read_and_write_while_an_index_waits_for_a_transaction(books: Books) -> None:
    changed = declared(FIELDS, indexes=[index("pages")])
    assert (await books.write(changed)).after is None  # nothing stands in front of it
    async with writer(books) as connection, asyncio.timeout(HUNG_AFTER):
        # the wait for a transaction has no limit: a try that gave up would begin the index anew
        patience = LockPatience(seconds=0.02, pause=0, tries=1)
        migration = asyncio.create_task(upgrade(books.url, changed, books.folders, patience))
        while not await connection.fetchval(SOMEBODY_WAITS):
            assert not migration.done()
        await books.add({"title": "c", "pages": 4})
        assert await books.ask("SELECT count(*) FROM books") == [(3,)]
        assert not migration.done()
    assert await migration == []
    assert (await books.ask(STATE))[0][:2] == (True, 3)


@pytest.mark.promise(
    "migrations, under traffic: Indexes of tables that are there are built concurrently, outside the transaction; "
    "others read and write meanwhile"
)
async def test_processes_that_start_together_do_not_block_the_index_build(books: Books) -> None:
    changed = declared(FIELDS, indexes=[index("pages")])
    await books.write(changed)
    async with writer(books) as connection, asyncio.timeout(HUNG_AFTER):
        started = [asyncio.create_task(upgrade(books.url, changed, books.folders)) for _ in range(3)]
        while not await connection.fetchval(SOMEBODY_WAITS):
            assert not any(task.done() for task in started)
    assert await asyncio.gather(*started) == [[]] * 3


@pytest.mark.promise("migrations, under traffic: a second file that fails names what is wrong, and is begun anew")
async def test_a_file_that_fails_names_what_is_wrong_and_is_begun_again(books: Books) -> None:
    category = uuid4()
    written = await books.write(AFTER)
    assert written.after is not None
    # rows that another process writes after the file was written
    await books.add({"title": "a", "pages": None, "category_id": category})
    for wrong, mend in (
        ("pages_is_set", "UPDATE books SET pages = 0 WHERE pages IS NULL"),
        ("uq_books_title", "UPDATE books SET title = 'd' WHERE pages = 0"),
        ("fk_books_category_id", "UPDATE books SET category_id = NULL"),
    ):
        with pytest.raises(MigrationRefused, match=f"{written.after.name}, line .*{wrong}"):
            await upgrade(books.url, AFTER, books.folders)
        await books.ask(mend)
    await books.apply(AFTER)
    assert await books.ask(STATE) == [(True, 5, True, 1, True)]


async def test_not_null_that_fails_leaves_no_check_that_refuses_null(books: Books) -> None:
    written = await books.write(declared([("title", str), ("pages", int), FIELDS[2]]))
    await books.add({"title": "c", "pages": None})
    with pytest.raises(MigrationRefused, match="pages_is_set"):
        await upgrade(books.url, BEFORE, books.folders)
    assert await discard(books.url, books.folders) == [written.path]
    await books.add({"title": "d", "pages": None})
    assert await books.ask("SELECT conname FROM pg_constraint WHERE contype = 'c' AND conname LIKE '%is_set'") == []


async def test_a_statement_that_is_stopped_leaves_the_limit_of_waiting_as_it_was(books: Books) -> None:
    def stopped(commands: AlembicCommands) -> object:
        connection: Connection = commands.config.attributes["connection"]
        connection.execute(text("SET lock_timeout = '3s'"))
        with Operations.context(MigrationContext.configure(connection)), suppress(asyncio.CancelledError), by_itself():
            assert connection.execute(text("SHOW lock_timeout")).scalar_one() == "0"
            raise asyncio.CancelledError
        return connection.execute(text("SHOW lock_timeout")).scalar_one()

    outcome = await run_command(books.url, metadata_for(BEFORE), books.folders, stopped, commits=False)
    assert outcome.value == "3s"


async def test_an_index_for_a_new_search_is_built_without_blocking_reads_and_writes(books: Books) -> None:
    changed = declared(FIELDS, search=["title"])
    written = await books.write(changed)
    assert "the index ix_books_search is built CONCURRENTLY" in written.path.read_text()
    async with writer(books) as connection, asyncio.timeout(HUNG_AFTER):
        migration = asyncio.create_task(upgrade(books.url, changed, books.folders))
        while not await connection.fetchval(SOMEBODY_WAITS):
            assert not migration.done()
        await books.add({"title": "c", "pages": 4})
        assert not migration.done()
    assert await migration == []
