"""Changes of a declaration on a table with rows: each is applied, or says in a sentence what a person must decide."""

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from adapters.postgres.migrations.migrate import discard, downgrade, pending_sql, upgrade, write_migration
from adapters.postgres.migrations.pending import MigrationRefused, pending
from domain.entities.markers import big, money, unique
from tests.adapters.postgres.migrations.changed_books import Books, declared, fill_in
from tests.servers.databases import named

LOSING: list[tuple[object, object, list[Any], int, str, list[Any]]] = [
    (Annotated[Decimal, money(8, 2)], Annotated[Decimal, money(8, 0)], [Decimal("1.25"), Decimal(2)], 1,
     "round(x, 0)", [Decimal(1), Decimal(2)]),
    (Annotated[Decimal, money(8, 2)], Annotated[Decimal, money(4, 2)], [Decimal("99.25"), Decimal(200)], 1,
     "least(x, 99.99)", [Decimal("99.25"), Decimal("99.99")]),
    (float, int, [1.5, 2.0], 1, "floor(x)::int", [1, 2]),
    (datetime, date, [datetime(2026, 1, 2, 3, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)], 1,
     "(x AT TIME ZONE 'UTC')::date", [date(2026, 1, 2), date(2026, 1, 2)]),
    (str, int, ["7", "seven"], 1, "CASE x WHEN 'seven' THEN 7 ELSE x::int END", [7, 7]),
    (Annotated[int, big], int, [5_000_000_000, 1], 1, "least(x, 2147483647)::int", [1, 2147483647]),
    (Annotated[Decimal, money(8, 2)], int, [Decimal("1.25"), Decimal(2)], 1, "trunc(x)::int", [1, 2]),
    (str, UUID, [str(UUID(int=1)), str(UUID(int=2))], 2, "x::uuid", [UUID(int=1), UUID(int=2)]),
    (bool, int, [True, False], 2, "x::int", [0, 1]),
    (list[str], str, [["a", "b"], []], 2, "array_to_string(x, '+')", ["", "a+b"]),
]  # fmt: skip


@pytest.mark.promise(
    "migrations, data loss: Fewer digits, a smaller scale, float or decimal to integer, timestamp to date, text to "
    "number, 64 to 32 bits: the file has the number of rows that would change or fail, and waits for its USING"
)
@pytest.mark.promise(
    "migrations, data loss: a file that waits for a decision is refused by migrate and by the start, with file, line "
    "and reason; its rows stay as they are"
)
async def test_a_narrower_type_waits_for_a_decision(books: Books) -> None:
    """All at once: each change is that of a field of its own, ``x0``, ``x1`` and so on, and waits for its own."""
    names = [f"x{number}" for number in range(len(LOSING))]
    await books.start(declared([(name, case[0]) for name, case in zip(names, LOSING, strict=True)]))
    await books.add(*({name: case[2][row] for name, case in zip(names, LOSING, strict=True)} for row in range(2)))
    changed = declared([(name, case[1]) for name, case in zip(names, LOSING, strict=True)])
    written = await books.write(changed)
    for name, note, (*_, hurt, _, _) in zip(names, written.notes, LOSING, strict=True):
        assert note.startswith(f"books.{name} becomes ")
        assert f"{hurt} of 2 rows would change or fail" in note
    for name, case in zip(names, LOSING, strict=True):
        with pytest.raises(
            MigrationRefused, match=rf"change\.py, line \d+ is to be filled in: books\.{name} becomes .*run: tenant"
        ):
            await books.apply(changed)
        assert sorted(value for (value,) in await books.ask(f"SELECT {name} FROM books")) == sorted(case[2])
        fill_in(written.path, repr(re.sub(r"\bx\b", name, case[4])))
    await books.apply(changed)
    for name, case in zip(names, LOSING, strict=True):
        assert sorted(value for (value,) in await books.ask(f"SELECT {name} FROM books")) == case[5], name
    assert await write_migration(books.url, changed, "again", books.folders) is None


KEEPING: list[tuple[object, object, object, object]] = [
    (Annotated[Decimal, money(8, 2)], Annotated[Decimal, money(10, 3)], Decimal("1.25"), Decimal("1.250")),
    (int, Annotated[int, big], 5, 5),
    (int, float, 5, 5.0),
    (int, Annotated[Decimal, money(12, 2)], 5, Decimal(5)),
    (int, str, 5, "5"),
    (date, datetime, date(2026, 1, 2), datetime(2026, 1, 2, tzinfo=UTC)),
]


@pytest.mark.promise(
    "migrations, data loss: Wider types are applied as they are written, whatever the time zone of the session"
)
async def test_wider_types_are_applied_as_they_are_written(books: Books) -> None:
    """All at once: each pair is a field of its own, ``x0``, ``x1`` and so on."""
    before, after = ([(f"x{n}", case[place]) for n, case in enumerate(KEEPING)] for place in (0, 1))
    await books.start(declared(before))
    await books.add({f"x{n}": case[2] for n, case in enumerate(KEEPING)})
    # the same result wherever the operator's session is
    await books.ask(f"ALTER DATABASE \"{named(books.url)}\" SET timezone TO 'Asia/Tokyo'")
    written = await books.migrate(declared(after))
    assert written.notes == ()
    (stored,) = await books.ask(f"SELECT {', '.join(name for name, _ in after)} FROM books")
    assert list(stored) == [case[3] for case in KEEPING]
    assert [type(value) for value in stored] == [type(case[3]) for case in KEEPING]


@pytest.mark.promise(
    "migrations, common changes: a required field on a table with rows says their number and asks for a value"
)
async def test_a_required_field_asks_for_a_value_of_the_rows(books: Books) -> None:
    first, changed = declared([("title", str)]), declared([("title", str), ("isbn", str)])
    await books.start(first)
    await books.add({"title": "a"}, {"title": "b"})
    written = await books.write(changed)
    assert "books.isbn is required and has no default, and books has 2 rows" in written.notes[0]
    with pytest.raises(MigrationRefused, match=r"to be filled in: books\.isbn is required"):
        await books.apply(changed)
    assert await discard(books.url, books.folders) == [written.path]
    assert not written.path.exists()
    written = await books.write(changed)
    fill_in(written.path, "sa.text(\"'none'\")")
    await books.apply(changed)
    assert await books.ask("SELECT DISTINCT isbn FROM books") == [("none",)]


@pytest.mark.promise(
    "migrations, common changes: Null becomes required: the rows with null are counted, and their value is asked for"
)
async def test_required_with_nulls_asks_for_their_value(books: Books) -> None:
    await books.start(declared([("isbn", str | None, None)]))
    await books.add({"isbn": None}, {"isbn": "1"})
    changed = declared([("isbn", str)])
    written = await books.write(changed)
    assert "books.isbn is required now, and is null in 1 row." in written.notes[0]
    with pytest.raises(MigrationRefused, match="to be filled in"):
        await books.apply(changed)
    fill_in(written.path, "\"UPDATE books SET isbn = '' WHERE isbn IS NULL\"")
    await books.apply(changed)
    assert await books.ask("SELECT isbn FROM books ORDER BY 1") == [("",), ("1",)]


@pytest.mark.promise("migrations, data loss: rows are counted also for an owner whom row-level security holds")
async def test_rows_are_counted_for_an_owner_under_row_level_security(books: Books) -> None:
    first, changed = declared([("isbn", str)]), declared([("isbn", int)])
    await books.start(first)
    await books.add({"isbn": "x"})
    owner = f"tenantry_owner_{uuid4().hex[:8]}"
    await books.ask(f"CREATE ROLE {owner} LOGIN PASSWORD 'weak' NOSUPERUSER NOBYPASSRLS")
    try:
        for statement in (
            f"GRANT tenantry_service TO {owner}",
            f"GRANT CREATE, USAGE ON SCHEMA public TO {owner}",
            f"ALTER TABLE books OWNER TO {owner}",
            f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {owner}",
        ):
            await books.ask(statement)
        superuser = books.url
        scheme, _, rest = superuser.partition("://")
        books.url = f"{scheme}://{owner}:weak@{rest.rpartition('@')[2]}"
        written = await books.write(changed)
        books.url = superuser
        assert "1 of 1 row would change or fail" in written.notes[0]
    finally:
        for statement in (f"REASSIGN OWNED BY {owner} TO CURRENT_USER", f"DROP OWNED BY {owner}", f"DROP ROLE {owner}"):
            await books.ask(statement)


@pytest.mark.promise(
    "migrations, common changes: a unique over values that are double names some, and the query that finds all, with "
    "case and without"
)
@pytest.mark.parametrize("ignore_case", [True, False])
async def test_a_unique_with_duplicates_names_some_and_the_query_for_all(books: Books, ignore_case: bool) -> None:
    await books.start(declared([("isbn", str)]))
    await books.add({"isbn": "a"}, {"isbn": "A" if ignore_case else "a"}, {"isbn": "b"})
    changed = declared([("isbn", str)], unique=[unique("isbn", ignore_case=ignore_case)])
    written = await books.write(changed)
    note = written.notes[-1]
    assert "uq_books_isbn of books is unique, and 1 of its values are in several rows, such as " in note
    query = note.partition("All are found by: ")[2].partition(". Write")[0]
    assert [(row[-2], row[-1]) for row in await books.ask(query)] == [("a", 2)]
    fill_in(written.path, "\"DELETE FROM books WHERE id IN (SELECT id FROM books WHERE lower(isbn) = 'a' LIMIT 1)\"")
    await books.apply(changed)


@pytest.mark.promise(
    "migrations, common changes: no traceback is shown for a file that cannot be applied, is wrong Python, clashes "
    "with another or follows none"
)
@pytest.mark.promise(
    "migrations, common changes: a file that cannot be applied is named with its line and leaves nothing behind"
)
@pytest.mark.promise("migrations, common changes: it stops the next start with its name, and one command takes it back")
async def test_a_failing_file_is_named_and_taken_back(books: Books) -> None:
    """A row came after the file was written, on another database say."""
    await books.migrate(declared([("isbn", str)]))
    changed = declared([("isbn", str)], unique=[unique("isbn")])
    written = await books.write(changed)
    await books.add({"isbn": "a"}, {"isbn": "a"})
    with pytest.raises(
        MigrationRefused, match=r"change\.py, line \d+, cannot be applied.*Key .* is duplicated"
    ) as error:
        await books.apply(changed)
    assert "tenantry migrations discard" in str(error.value)
    await discard(books.url, books.folders)
    assert written.path.exists() is False
    with pytest.raises(MigrationRefused, match="is applied: it is undone by"):
        await discard(books.url, books.folders)


@pytest.mark.promise(
    "migrations, common changes: no traceback is shown for a file that cannot be applied, is wrong Python, clashes "
    "with another or follows none"
)
async def test_an_error_in_a_migration_file_is_reported_with_its_line(books: Books) -> None:
    registry = declared([("isbn", str)])
    path = (await books.write(registry)).path
    text, head = path.read_text(), "def upgrade() -> None:\n"
    for mistake in ("    op.nothing()\n", "    !\n"):
        path.write_text(text.replace(head, f"{head}{mistake}"))
        with pytest.raises(MigrationRefused, match=r"change\.py, line \d+, cannot be applied"):
            await books.apply(registry)


class Shelf(Enum):
    A = "a :b"


DEFAULTS: list[tuple[object, object, object]] = [
    (str, "write :todo", "write :todo"),
    (str, "it's", "it's"),
    (str, "'quoted'", "'quoted'"),
    (str, "back\\slash \\:word %s %(x)s", "back\\slash \\:word %s %(x)s"),
    (str, '{"a": [1]}', '{"a": [1]}'),
    (str, "", ""),
    (Shelf, Shelf.A, "a :b"),
    (date, date(2026, 1, 2), date(2026, 1, 2)),
    (datetime, datetime(2026, 1, 2, 3, 4, tzinfo=UTC), datetime(2026, 1, 2, 3, 4, tzinfo=UTC)),
    (UUID, UUID(int=7), UUID(int=7)),
    (bool, True, True),
    (int, -3, -3),
    (float, 1.5, 1.5),
    (Annotated[Decimal, money(8, 2)], Decimal("1.25"), Decimal("1.25")),
    (list[str], msgspec.field(default_factory=list), []),
    (
        list[str],
        msgspec.field(default_factory=lambda: ['a "b"', "c,{d}\\", "NULL", ""]),
        ['a "b"', "c,{d}\\", "NULL", ""],
    ),
]


@pytest.mark.promise(
    "migrations, common changes: rows that exist get every kind of default: text with :word, quotes, backslashes, "
    "braces and %, enum members, dates, timestamps, UUIDs, booleans, numbers, decimals and lists"
)
async def test_rows_that_exist_get_the_default(books: Books) -> None:
    """All at once: each default is that of a field of its own, ``x0``, ``x1`` and so on."""
    await books.start(declared([("title", str)]))
    await books.add({"title": "a"})
    fields = [(f"x{n}", kind, default) for n, (kind, default, _) in enumerate(DEFAULTS)]
    written = await books.migrate(declared([("title", str), *fields]))
    assert written.notes == ()
    (stored,) = await books.ask(f"SELECT {', '.join(name for name, *_ in fields)} FROM books")
    assert list(stored) == [case[2] for case in DEFAULTS]


@pytest.mark.promise(
    "migrations, workflow: a file is undone by its downgrade, with defaults and renames, and applied again"
)
async def test_a_default_is_changed_with_its_type_and_restored_by_a_downgrade(books: Books) -> None:
    """PostgreSQL converts values, and refuses a default that it cannot convert."""
    first, later = declared([("x", str, "a :todo")]), declared([("x", int, 7)])
    await books.start(first)
    # the stored default comes back from PostgreSQL as an expression
    written = await books.write(later)
    fill_in(written.path, "\"'1'::int\"")
    await books.apply(later)
    await downgrade(books.url, later, books.folders)
    await books.ask(
        "INSERT INTO books (tenant_id, id, version, created_at, updated_at) VALUES ($1, $1, 1, now(), now())",
        books.tenant,
    )
    assert await books.ask("SELECT x FROM books") == [("a :todo",)]


@pytest.mark.promise("migrations, common changes: a switch of tenant_owned is refused")
@pytest.mark.parametrize("owned", [True, False])
async def test_a_switch_of_the_owner_is_refused(books: Books, owned: bool) -> None:
    await books.start(declared([("title", str)], tenant_owned=owned))
    with pytest.raises(
        MigrationRefused, match=f"Book: tenant_owned={not owned} is not what the table books was made with"
    ):
        await books.write(declared([("title", str)], tenant_owned=not owned))
    assert list(books.folder.glob("*.py")) == []


@pytest.mark.promise(
    "migrations, common changes: soft_delete is not switched off while deleted rows would come back to life; on and "
    "off, the indexes are made anew"
)
async def test_removing_soft_delete_does_not_restore_deleted_rows(books: Books) -> None:
    keys: dict[str, Any] = {"unique": [unique("title")]}
    await books.start(declared([("title", str)], **keys))
    await books.add({"title": "a", "is_deleted": True}, {"title": "a", "is_deleted": False})
    off = declared([("title", str)], soft_delete=False, **keys)
    with pytest.raises(MigrationRefused, match="Book: soft_delete=False would bring 1 deleted row"):
        await books.write(off)
    await books.ask("DELETE FROM books WHERE is_deleted")
    await books.migrate(off)
    definitions = await books.ask("SELECT indexdef FROM pg_indexes WHERE tablename = 'books'")
    assert not [text for (text,) in definitions if "WHERE" in text]
    assert await write_migration(books.url, off, "again", books.folders) is None


async def test_a_database_with_deleted_rows_refuses_what_was_written_against_another(books: Books) -> None:
    await books.start(declared([("title", str)]))
    off = declared([("title", str)], soft_delete=False)
    written = await books.write(off)
    assert "ensure_none_deleted('books')" in written.path.read_text()
    printed = await pending_sql(books.url, off, books.folders)
    await books.add({"title": "a", "is_deleted": True})
    with pytest.raises(MigrationRefused, match="would bring 1 deleted row of books back to life"):
        await upgrade(books.url, off, books.folders)
    with pytest.raises(asyncpg.RaiseError, match="deleted rows of books back to life"):
        await books.run(printed)
    await books.ask("DELETE FROM books")
    await books.run("ROLLBACK", printed)
    assert await pending(books.url, off, books.folders) == []
    assert await downgrade(books.url, declared([("title", str)]), books.folders) == [written.path]


@pytest.mark.promise(
    "migrations, common changes: soft_delete is not switched off while deleted rows would come back to life; on and "
    "off, the indexes are made anew"
)
async def test_with_soft_delete_a_deleted_value_is_free(books: Books) -> None:
    keys: dict[str, Any] = {"unique": [unique("title")]}
    await books.start(declared([("title", str)], soft_delete=False, **keys))
    await books.add({"title": "a"})
    await books.migrate(declared([("title", str)], **keys))
    await books.ask("UPDATE books SET is_deleted = true")
    await books.add({"title": "a", "is_deleted": False})
