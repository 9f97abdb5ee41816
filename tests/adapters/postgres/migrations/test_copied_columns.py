"""Migrations of scaled copies: they come and go with the indexes of their decimals, and keep every value.

Migrations of lowered copies: they come and go with the uniques without case of their fields.
"""

from decimal import Decimal
from typing import Annotated, Any

import pytest

from adapters.postgres.migrations.inspection import differences
from adapters.postgres.migrations.migrate import downgrade, write_migration
from adapters.postgres.migrations.pending import MigrationRefused, pending
from domain.entities.declaration import Registry
from domain.entities.markers import index, money, unique
from tests.adapters.postgres.migrations.changed_books import Books, declared, fill_in

COPIES = """
SELECT attname, pg_get_expr(adbin, adrelid), attgenerated FROM pg_attribute
JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = 'books'::regclass AND attgenerated <> ''
"""
KEYS = "SELECT indexdef FROM pg_indexes WHERE indexname LIKE 'ix_books_by%'"


def priced(digits: int, scale: int, *names: str, field: str = "price", **arguments: Any) -> Registry:
    fields = [("shelf", int, 0), (field, Annotated[Decimal | None, money(digits, scale)], None)]
    return declared(fields, indexes=[index(*names)] if names else [], **arguments)


@pytest.mark.promise(
    "declarations, indexes and decimals: the copy comes and goes with its index, and is in no answer, body, filter, "
    "order or document"
)
async def test_an_index_adds_the_copy_and_its_removal_drops_it(books: Books) -> None:
    await books.start(priced(12, 2))
    await books.add({"price": Decimal("9999999999.99")}, {"price": Decimal("-1.05")}, {"price": None})
    indexed = priced(12, 2, "shelf", "price")
    assert await pending(books.url, indexed, books.folders) == [
        "Book: no migration makes the columns price$e2 of books."
    ]
    written = await books.migrate(indexed)
    (note,) = written.notes
    assert note.startswith("books.price$e2 is a generated copy of price: PostgreSQL writes the table anew")
    assert await books.ask('SELECT "price$e2" FROM books ORDER BY 1') == [(-105,), (999999999999,), (None,)]
    ((definition,),) = await books.ask(KEYS)
    assert '(tenant_id, shelf, "price$e2", id) WHERE (NOT is_deleted)' in definition
    assert await write_migration(books.url, indexed, "again", books.folders) is None
    assert await differences(books.url, priced(12, 2), books.folders) == [
        "The index ix_books_by_shelf_price of books is not declared, and not needed.",
        "The table books does not need the column price$e2: no declared index or unique uses this copy.",
    ]
    await books.migrate(priced(12, 2))
    assert await books.ask(COPIES) == await books.ask(KEYS) == []
    await downgrade(books.url, priced(12, 2), books.folders)
    assert await books.ask('SELECT "price$e2" FROM books ORDER BY 1') == [(-105,), (999999999999,), (None,)]
    assert await books.ask(KEYS) == [(definition,)]


@pytest.mark.promise(
    "declarations, indexes and decimals: the copy comes and goes with its index, and is in no answer, body, filter, "
    "order or document"
)
async def test_a_changed_scale_recreates_the_scaled_copy(books: Books) -> None:
    await books.start(priced(12, 2, "price"))
    await books.add({"price": Decimal("1.05")})
    finer = priced(14, 4, "price")
    await books.migrate(finer)
    ((name, _, _),) = await books.ask(COPIES)
    assert name == "price$e4"
    assert await books.ask('SELECT price, "price$e4" FROM books') == [(Decimal("1.0500"), 10500)]
    assert len(await books.ask(KEYS)) == 1
    assert await write_migration(books.url, finer, "again", books.folders) is None


async def test_more_digits_with_the_same_scale_preserve_the_index(books: Books) -> None:
    await books.start(priced(12, 2, "shelf", "price"))
    await books.add({"price": Decimal("1.05")})
    wider = priced(18, 2, "shelf", "price")
    await books.migrate(wider)
    assert await books.ask('SELECT price, "price$e2" FROM books') == [(Decimal("1.05"), 105)]
    assert len(await books.ask(KEYS)) == 1
    assert await write_migration(books.url, wider, "again", books.folders) is None


@pytest.mark.promise("declarations, indexes and decimals: More digits than a copy holds are indexed themselves")
async def test_a_decimal_too_long_for_a_scaled_copy_is_indexed_directly(books: Books) -> None:
    await books.start(priced(12, 2, "shelf", "price"))
    widest = priced(19, 2, "shelf", "price")
    await books.migrate(widest)
    assert await books.ask(COPIES) == []
    ((definition,),) = await books.ask(KEYS)
    assert "(tenant_id, shelf, price, id)" in definition
    assert await write_migration(books.url, widest, "again", books.folders) is None


@pytest.mark.promise(
    "migrations, data loss: Fewer digits, a smaller scale, float or decimal to integer, timestamp to date, text to "
    "number, 64 to 32 bits: the file has the number of rows that would change or fail, and waits for its USING"
)
async def test_a_narrower_decimal_waits_for_its_decision_with_the_copy(books: Books) -> None:
    await books.start(priced(12, 2, "price"))
    await books.add({"price": Decimal("1.25")})
    whole = priced(12, 0, "price")
    written = await books.write(whole)
    with pytest.raises(MigrationRefused, match=r"1 of 1 row would change or fail"):
        await books.apply(whole)
    fill_in(written.path, repr("round(price, 0)"))
    await books.apply(whole)
    assert await books.ask('SELECT price, "price$e0" FROM books') == [(Decimal(1), 1)]


@pytest.mark.promise(
    "migrations, renames: --rename keeps values and indexes of a field; a name that is none is refused"
)
async def test_renaming_a_decimal_field_renames_its_scaled_copy(books: Books) -> None:
    await books.start(priced(12, 2, "shelf", "price"))
    await books.add({"price": Decimal("1.05")})
    renamed = priced(12, 2, "shelf", "cost", field="cost")
    await books.migrate(renamed, "price=cost")
    assert await books.ask('SELECT cost, "cost$e2" FROM books') == [(Decimal("1.05"), 105)]
    assert await write_migration(books.url, renamed, "again", books.folders) is None


async def test_a_default_order_by_an_indexed_decimal_is_that_of_the_copy(books: Books) -> None:
    await books.start(priced(12, 2, "shelf", "price", sort="-price"))
    orders = await books.ask("SELECT indexdef FROM pg_indexes WHERE indexname = 'ix_books_order'")
    assert '(tenant_id, "price$e2", id)' in orders[0][0]


COPIES_OF_LOWERED_MIGRATIONS = """
SELECT attname, pg_get_expr(adbin, adrelid) FROM pg_attribute
JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = 'books'::regclass AND attgenerated <> ''
"""
KEYS_OF_LOWERED_MIGRATIONS = "SELECT indexdef FROM pg_indexes WHERE indexname = 'uq_books_title'"
OVER_COPY = '(tenant_id, "title$lower") WHERE (NOT is_deleted)'


def titled(*uniques: Any, field: str = "title", kind: Any = str) -> Registry:
    fields = [("shelf", int, 0), (field, kind) if kind is str else (field, kind, None)]
    return declared(fields, unique=list(uniques))


async def keys(books: Books) -> str:
    ((definition,),) = await books.ask(KEYS_OF_LOWERED_MIGRATIONS)
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
    assert await books.ask(COPIES_OF_LOWERED_MIGRATIONS) == await books.ask(KEYS_OF_LOWERED_MIGRATIONS) == []
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
    assert await books.ask(COPIES_OF_LOWERED_MIGRATIONS) == []


@pytest.mark.promise(
    "declarations, case folding: the copy comes and goes with ignore_case, follows a rename, and takes the place of an "
    "index over lower in one transaction"
)
async def test_renaming_a_field_renames_its_lowered_copy(books: Books) -> None:
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
    assert await books.ask(COPIES_OF_LOWERED_MIGRATIONS) == await books.ask(KEYS_OF_LOWERED_MIGRATIONS) == []


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
    assert await books.ask(COPIES_OF_LOWERED_MIGRATIONS) == []
    both = titled(together, unique("title", ignore_case=True))
    await books.migrate(both)
    assert [name for name, _ in await books.ask(COPIES_OF_LOWERED_MIGRATIONS)] == ["title$lower"]
    await books.migrate(titled(together))
    assert await books.ask(COPIES_OF_LOWERED_MIGRATIONS) == []
    assert await write_migration(books.url, titled(together), "again", books.folders) is None
