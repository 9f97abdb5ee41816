"""Migrations of scaled copies: they come and go with the indexes of their decimals, and keep every value."""

from decimal import Decimal
from typing import Annotated, Any

import pytest

from adapters.postgres.migrations.inspection import differences
from adapters.postgres.migrations.migrate import downgrade, write_migration
from adapters.postgres.migrations.pending import MigrationRefused, pending
from domain.entities.declaration import Registry
from domain.entities.markers import index, money
from tests.adapters.postgres.changed_books import Books, declared, fill_in

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
async def test_another_scale_makes_the_copy_anew(books: Books) -> None:
    await books.start(priced(12, 2, "price"))
    await books.add({"price": Decimal("1.05")})
    finer = priced(14, 4, "price")
    await books.migrate(finer)
    ((name, _, _),) = await books.ask(COPIES)
    assert name == "price$e4"
    assert await books.ask('SELECT price, "price$e4" FROM books') == [(Decimal("1.0500"), 10500)]
    assert len(await books.ask(KEYS)) == 1
    assert await write_migration(books.url, finer, "again", books.folders) is None


async def test_more_digits_of_the_same_scale_keep_the_index(books: Books) -> None:
    await books.start(priced(12, 2, "shelf", "price"))
    await books.add({"price": Decimal("1.05")})
    wider = priced(18, 2, "shelf", "price")
    await books.migrate(wider)
    assert await books.ask('SELECT price, "price$e2" FROM books') == [(Decimal("1.05"), 105)]
    assert len(await books.ask(KEYS)) == 1
    assert await write_migration(books.url, wider, "again", books.folders) is None


@pytest.mark.promise("declarations, indexes and decimals: More digits than a copy holds are indexed themselves")
async def test_more_digits_than_a_copy_holds_are_indexed_themselves(books: Books) -> None:
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
async def test_a_renamed_decimal_takes_its_copy_along(books: Books) -> None:
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
