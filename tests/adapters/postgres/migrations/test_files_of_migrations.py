"""Files of migrations: those of two branches, revisions that are no numbers, and messages of any characters."""

import re
from pathlib import Path
from typing import Annotated
from uuid import UUID

import pytest
from msgspec import defstruct

from adapters.postgres.migrations.migrate import discard, downgrade, upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS, MigrationRefused, heads_of, pending
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.markers import entity, ref
from domain.entities.registry import build_registry
from tests.adapters.postgres.migrations.changed_books import Books, Fields, declared
from tests.conftest import NewDatabase

TITLE: Fields = [("title", str)]
SHELF: Fields = [("shelf", str | None, None)]
COLOUR: Fields = [("colour", str | None, None)]
COLUMNS = "SELECT column_name FROM information_schema.columns WHERE table_name = 'books' AND column_name = ANY ($1)"


ORDER = ["0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008"]


def test_a_new_migration_of_the_service_comes_last() -> None:
    """A database stores its newest revision only: it never applies a file that is inserted before that one."""
    found = re.compile(r'^(?:down_)?revision = "?(\w+)"?$', re.MULTILINE)
    files = [found.findall(path.read_text()) for path in sorted(VERSIONS.glob("*.py"))]
    before = ["None", *ORDER]
    assert files == [list(pair) for pair in zip(ORDER, before, strict=False)], "append the new migration to ORDER"


async def left(books: Books) -> set[str]:
    return {name for (name,) in await books.ask(COLUMNS, ["shelf", "colour", "size"])}


async def branches(books: Books) -> tuple[Path, Path]:
    """Two files that follow the same one, as after a merge; the older one is given first."""
    await books.migrate(declared(TITLE))
    older = (await books.write(declared([*TITLE, *SHELF]))).path
    text = older.read_text()
    older.unlink()
    newer = (await books.write(declared([*TITLE, *COLOUR]))).path
    older = newer.with_name("20200101000000_shelf.py")
    older.write_text(text.replace(text.split('revision = "')[1].split('"')[0], "20200101000000", 1))
    return older, newer


async def test_of_two_branches_the_newest_is_taken_back_and_undone_first(books: Books) -> None:
    older, newer = await branches(books)
    both = declared([*TITLE, *SHELF, *COLOUR])
    await books.apply(both)
    with pytest.raises(MigrationRefused, match=f"{newer.name} is applied"):
        await discard(books.url, books.folders)
    assert await downgrade(books.url, both, books.folders) == [newer]
    assert await left(books) == {"shelf"}
    assert await downgrade(books.url, both, books.folders) == [older]
    assert await left(books) == set()
    assert await discard(books.url, books.folders) == [newer]
    await upgrade(books.url, both, books.folders)
    assert await left(books) == {"shelf"}


async def test_the_next_migration_merges_two_branches_and_is_undone_separately(books: Books) -> None:
    older, newer = await branches(books)
    joined = declared([*TITLE, *SHELF, *COLOUR, ("size", str | None, None)])
    written = await books.migrate(joined)
    assert written.notes == (f"{older.name} and {newer.name} were written beside each other: this file joins them.",)
    assert len(heads_of([books.folder])) == 1
    assert await pending(books.url, joined, books.folders) == []
    assert await downgrade(books.url, joined, books.folders) == [written.path]
    assert await left(books) == {"shelf", "colour"}
    assert await discard(books.url, books.folders) == [written.path]
    assert await downgrade(books.url, joined, books.folders) == [newer]
    assert await left(books) == {"shelf"}


async def test_a_revision_that_is_not_a_number_is_followed_and_undone(books: Books) -> None:
    first = (await books.write(declared(TITLE))).path
    text = first.read_text()
    first.write_text(text.replace(text.split('revision = "')[1].split('"')[0], "mine", 1))
    shelved = declared([*TITLE, *SHELF])
    second = await books.migrate(shelved)
    assert 'down_revision = "mine"' in second.path.read_text()
    assert await downgrade(books.url, shelved, books.folders) == [second.path]
    assert await discard(books.url, books.folders) == [second.path]
    with pytest.raises(MigrationRefused, match="is applied: it is undone by"):
        await discard(books.url, books.folders)
    assert await downgrade(books.url, shelved, books.folders) == [first]


@pytest.mark.parametrize("message", ['the "new" shelf', 'a shelf "new"', '"', "a\\", 'a\\"""\nb', "C:\\new\\u12"])
async def test_a_message_of_any_characters_makes_a_file_that_is_read(books: Books, message: str) -> None:
    before: Fields = [("title", str), ("pages", int | None, None)]
    await books.start(declared(before))
    both = declared([("title", str), ("pages", int), *SHELF])
    written = await write_migration(books.url, both, message, books.folders)
    assert written is not None
    assert written.after is not None
    await books.apply(both)
    assert await downgrade(books.url, both, books.folders) == [written.path, written.after]
    assert await discard(books.url, books.folders) == [written.path, written.after]


async def test_a_migration_follows_those_of_other_folders_that_its_tables_refer_to(
    books: Books, new_database: NewDatabase, tmp_path: Path
) -> None:
    """An entity of one folder may refer to one of another, whichever line Alembic would begin with."""
    await books.migrate(declared(TITLE))
    loan = entity("loans")(defstruct("Loan", [("book_id", Annotated[UUID, ref("books")])], kw_only=True))
    both = build_registry([*ENTITIES, *BUILTIN_ENTITIES, declared(TITLE)["books"].struct, loan])
    folders = [*books.folders, tmp_path / "loans" / "migrations"]
    written = await write_migration(books.url, both, "loans", folders)
    assert written is not None
    await upgrade(books.url, both, folders)
    fresh = await new_database()
    await upgrade(fresh, both, folders)
    for url in (books.url, fresh):
        assert await pending(url, both, folders) == []
    assert await downgrade(fresh, both, folders) == [written.path]
    await upgrade(fresh, both, folders)
    assert await pending(fresh, both, folders) == []
