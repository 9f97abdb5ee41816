"""Migrations of lowered copies: they come and go with the uniques without case of their fields."""

from typing import Any

import pytest

from adapters.postgres.migrations.inspection import differences
from adapters.postgres.migrations.migrate import downgrade, write_migration
from adapters.postgres.migrations.pending import pending
from domain.entities.declaration import Registry
from domain.entities.markers import unique
from tests.adapters.postgres.changed_books import Books, declared

COPIES = """
SELECT attname, pg_get_expr(adbin, adrelid) FROM pg_attribute
JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = 'books'::regclass AND attgenerated <> ''
"""
KEYS = "SELECT indexdef FROM pg_indexes WHERE indexname = 'uq_books_title'"
OVER_COPY = '(tenant_id, "title$lower") WHERE (NOT is_deleted)'


def titled(*uniques: Any, field: str = "title", kind: Any = str) -> Registry:
    fields = [("shelf", int, 0), (field, kind) if kind is str else (field, kind, None)]
    return declared(fields, unique=list(uniques))


async def keys(books: Books) -> str:
    ((definition,),) = await books.ask(KEYS)
    return str(definition)


@pytest.mark.promise(
    "declarations, case folding: the copy comes and goes with ignore_case, follows a rename, and takes the place of an "
    "index over lower in one transaction"
)
async def test_a_unique_without_case_adds_the_copy_and_its_removal_drops_it(books: Books) -> None:
    await books.start(titled())
    await books.add({"title": "ÉTÉ"}, {"title": "b"})
    folded = titled(unique("title", ignore_case=True))
    assert await pending(books.url, folded, books.folders) == [
        "Book: no migration makes the columns title$lower of books."
    ]
    written = await books.migrate(folded)
    assert written.notes[0].startswith("books.title$lower is a generated copy of title: PostgreSQL writes the table")
    assert await books.ask('SELECT "title$lower" FROM books ORDER BY 1') == [("b",), ("été",)]
    assert OVER_COPY in await keys(books)
    assert await write_migration(books.url, folded, "again", books.folders) is None
    assert await differences(books.url, titled(), books.folders) == [
        "The index uq_books_title of books is not declared, and refuses rows that are allowed now.",
        "The table books does not need the column title$lower: no declared index or unique uses this copy.",
    ]
    await books.migrate(titled())
    assert await books.ask(COPIES) == await books.ask(KEYS) == []
    await downgrade(books.url, titled(), books.folders)
    assert await books.ask('SELECT "title$lower" FROM books ORDER BY 1') == [("b",), ("été",)]
    assert OVER_COPY in await keys(books)


@pytest.mark.promise(
    "declarations, case folding: the copy comes and goes with ignore_case, follows a rename, and takes the place of an "
    "index over lower in one transaction"
)
async def test_case_is_ignored_and_minded_again(books: Books) -> None:
    minded, folded = titled(unique("title")), titled(unique("title", ignore_case=True))
    await books.start(minded)
    await books.add({"title": "A"})
    await books.migrate(folded)
    assert OVER_COPY in await keys(books)
    await books.migrate(minded)
    assert "(tenant_id, title)" in await keys(books)
    assert await books.ask(COPIES) == []


@pytest.mark.promise(
    "declarations, case folding: the copy comes and goes with ignore_case, follows a rename, and takes the place of an "
    "index over lower in one transaction"
)
async def test_a_renamed_field_takes_its_copy_along(books: Books) -> None:
    await books.start(titled(unique("title", ignore_case=True)))
    await books.add({"title": "A"})
    renamed = titled(unique("caption", ignore_case=True), field="caption")
    await books.migrate(renamed, "title=caption")
    assert await books.ask('SELECT caption, "caption$lower" FROM books') == [("A", "a")]
    assert await write_migration(books.url, renamed, "again", books.folders) is None


async def test_a_field_that_goes_leaves_its_column_without_the_copy(books: Books) -> None:
    await books.start(titled(unique("title", ignore_case=True)))
    await books.add({"title": "A"})
    await books.migrate(declared([("shelf", int, 0)]))
    assert await books.ask("SELECT title FROM books") == [("A",)]
    assert await books.ask(COPIES) == await books.ask(KEYS) == []


async def test_text_that_becomes_a_number_loses_its_copy_first(books: Books) -> None:
    await books.start(titled(unique("title", ignore_case=True)))
    numbered = titled(unique("title"), kind=int | None)
    written = await books.write(numbered)
    text = written.path.read_text()
    assert text.index("title$lower") < text.index("alter_column")


async def test_nulls_of_a_nullable_field_are_never_equal(books: Books) -> None:
    await books.start(titled(unique("title", ignore_case=True), kind=str | None))
    await books.add({"title": None}, {"title": None}, {"title": "A"})
    assert await books.ask('SELECT "title$lower" FROM books ORDER BY 1') == [("a",), (None,), (None,)]


@pytest.mark.promise(
    "declarations, case folding: the copy comes and goes with ignore_case, follows a rename, and takes the place of an "
    "index over lower in one transaction"
)
async def test_a_unique_of_several_fields_uses_the_copy_of_one_that_has_it(books: Books) -> None:
    together = unique("title", "shelf", ignore_case=True)
    await books.start(titled(together))
    assert await books.ask(COPIES) == []
    both = titled(together, unique("title", ignore_case=True))
    await books.migrate(both)
    assert [name for name, _ in await books.ask(COPIES)] == ["title$lower"]
    await books.migrate(titled(together))
    assert await books.ask(COPIES) == []
    assert await write_migration(books.url, titled(together), "again", books.folders) is None
