"""The table of changes in docs/migrations.md, row by row: what is written for each, against a table with rows."""

import re
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

import msgspec
import pytest
from msgspec import Meta, Struct, defstruct

from adapters.postgres.migrations.migrate import WrittenMigration, write_migration
from adapters.postgres.migrations.pending import MigrationRefused
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.declaration import Registry
from domain.entities.markers import Unique, big, entity, guarded, index, money, ref, unique
from domain.entities.registry import build_registry
from tests.adapters.postgres.migrations.changed_books import Books
from tests.conftest import NewDatabase
from tests.documentation.documents import DOCS

NOTHING = ""
Fields = list[Any]
CENTS = Annotated[Decimal, money(8, 2)]


class Change(Struct, kw_only=True):
    """``written`` are patterns that the lines of the files about the entity match in their order; ``noted`` a note."""

    before: Fields | None = None
    after: Fields | None = None
    rows: list[dict[str, object]] = []
    was: dict[str, Any] = {}
    now: dict[str, Any] = {}
    written: list[str] = []
    noted: str = NOTHING


TITLE: Fields = [("title", str)]
FOLDED = unique("title", ignore_case=True)
ROW: list[dict[str, object]] = [{"title": "a"}, {"title": "b"}]


def filled(after: Fields, *written: str, noted: str = NOTHING, **arguments: Any) -> Change:
    return Change(before=TITLE, after=after, rows=ROW, written=list(written), noted=noted, **arguments)


def keyed(was: list[Any], now: list[Any], *written: str, **arguments: Any) -> Change:
    return filled(TITLE, *written, was={"unique": was}, now={"unique": now, **arguments})


def as_unique(key: str | Unique) -> Unique:
    return unique(key) if isinstance(key, str) else key


def retyped(before: object, after: object, value: object, *written: str) -> Change:
    return Change(before=[("value", before)], after=[("value", after)], rows=[{"value": value}], written=list(written))


class Old(Enum):
    NEW, OLD = "new", "old"


class New(Enum):
    NEW = "new"


CHANGES: dict[str, list[Change]] = {
    "new entity": [Change(after=TITLE, written=["create_table", "secure_table", "create_index"])],
    "entity goes": [Change(before=TITLE, rows=ROW)],
    "entity gets another plural": [],  # by itself: test_an_entity_with_another_plural
    "new field, nullable or with a default": [
        filled([*TITLE, ("note", str | None, None), ("day", date, date(2026, 1, 31))], "'note'", "'day'.*2026-01-31")
    ],
    "new required field, table without rows": [
        Change(before=TITLE, after=[*TITLE, ("note", str)], written=["add_column.*'note'"], noted="fails on a database")
    ],
    "new required field, table with rows": [filled([*TITLE, ("note", str)], "'note'.*fill_in", noted="2 rows")],
    "field goes": [Change(before=[*TITLE, ("note", str)], after=TITLE, written=["'note'", "nullable=True"])],
    "field gets another name": [
        Change(before=TITLE, after=[("name", str)], rows=ROW, written=["'name'"], noted="--rename TABLE.title=name")
    ],
    "nullable becomes required, no row is null": [
        Change(before=[("title", str | None, None)], after=TITLE, rows=ROW, written=["set_not_null_online.*'title'"])
    ],
    "nullable becomes required, rows are null": [
        Change(
            before=[("title", str | None, None)],
            after=TITLE,
            rows=[{"title": None}],
            written=["fill_in", "set_not_null_online.*'title'"],
            noted="is null in 1 row",
        )
    ],
    "required becomes nullable": [filled([("title", str | None, None)], "alter_column", "nullable=True")],
    "wider type: more digits": [
        retyped(CENTS, Annotated[Decimal, money(10, 2)], Decimal(1), r"type_=sa.Numeric\(precision=10, scale=2\)"),
        retyped(int, Annotated[int, big], 1, "type_=sa.BigInteger"),
        retyped(int, float, 1, "type_=sa.Double"),
        retyped(date, datetime, date(2026, 1, 1), "type_=sa.DateTime", "postgresql_using=.*UTC"),
        retyped(UUID, str, uuid4(), "type_=sa.Text"),
    ],
    "narrower type: fewer digits": [
        retyped(CENTS, Annotated[Decimal, money(8, 0)], Decimal("1.5"), "fill_in.*1 of 1 row would change or fail"),
        retyped(Annotated[int, big], int, 2**40, "fill_in.*1 of 1 row"),
        retyped(float, int, 1.5, "fill_in.*1 of 1 row"),
        retyped(str, int, "a", "fill_in.*1 of 1 row"),
        retyped(bool, date, True, "fill_in.*1 of 1 row"),
    ],
    "shorter text (`max_length`)": [
        filled([("title", Annotated[str, Meta(max_length=1)])]),
        Change(
            before=TITLE,
            after=[("title", Annotated[str, Meta(max_length=1)])],
            rows=[{"title": "ab"}],
            noted="longer than the 1 characters of its declaration in 1 row",
        ),
    ],
    "enum member goes, no row has it": [
        Change(before=[("state", Old)], after=[("state", New)], rows=[{"state": "new"}])
    ],
    "enum member goes, rows have it": [
        Change(
            before=[("state", Old)],
            after=[("state", New)],
            rows=[{"state": "old"}],
            written=[r"fill_in.*old\\?' in 1 row.*keep_values"],
            noted="'old' in 1 row",
        )
    ],
    "enum member comes": [Change(before=[("state", New)], after=[("state", Old)], rows=[{"state": "new"}])],
    "unique comes, values are different": [
        keyed([], ["title"], "create_index_online.*unique=True"),
        keyed(
            [], [FOLDED], "written anew", r"'title\$lower'.*Computed", r"create_index_online.*'title\$lower'.*unique"
        ),
    ],
    "unique comes, values are double": [
        Change(
            before=TITLE,
            after=TITLE,
            rows=[{"title": "a"}, {"title": "a"}],
            now={"unique": ["title"]},
            written=["fill_in", "create_index_online.*unique=True"],
            noted="All are found by: SELECT",
        )
    ],
    "unique comes over a new field": [
        filled([*TITLE, ("code", str, "x")], "'code'", "fill_in", "unique=True", now={"unique": ["code"]}),
        filled([*TITLE, ("code", str | None, None)], "'code'", "unique=True", now={"unique": ["code"]}),
    ],
    "unique goes": [
        keyed(["title"], [], "drop_index"),
        keyed([FOLDED], [], "drop_index", r"drop_column.*'title\$lower'"),
    ],
    "`ignore_case` of a unique is switched": [
        keyed(["title"], [FOLDED], "drop_index", r"'title\$lower'.*Computed", "op.create_index"),
        keyed([FOLDED], ["title"], "drop_index", r"drop_column.*'title\$lower'", "op.create_index"),
    ],
    "index comes": [
        filled(TITLE, "create_index_online", now={"indexes": ["title"]}),
        Change(
            before=[("price", CENTS)],
            after=[("price", CENTS)],
            rows=[{"price": 1}],
            now={"indexes": ["price"]},
            written=["written anew", r"'price\$e2'.*Computed", r"create_index_online.*'price\$e2'"],
        ),
    ],
    "index goes": [
        filled(TITLE, was={"indexes": ["title"]}),
        Change(
            before=[("price", CENTS)],
            after=[("price", CENTS)],
            was={"indexes": ["price"]},
            written=["drop_index", r"drop_column.*'price\$e2'"],
        ),
    ],
    "decimal with a scaled copy gets another type": [
        Change(
            before=[("price", CENTS)],
            after=[("price", Annotated[Decimal, money(10, 2)])],
            rows=[{"price": 1}],
            was={"indexes": ["price"]},
            now={"indexes": ["price"]},
            written=[r"drop_column.*'price\$e2'", r"alter_column.*\n?.*'price'", r"add_column.*'price\$e2'"],
        )
    ],
    "reference comes or goes": [
        filled(
            [*TITLE, ("category_id", Annotated[UUID | None, ref("categories")], None)],
            "add_column.*'category_id'",
            "create_index_online.*category_id",
            "create_foreign_key_online.*'categories'",
        ),
        Change(
            before=[("category_id", Annotated[UUID | None, ref("categories")], None)],
            after=[("category_id", UUID | None, None)],
            written=["drop_constraint"],
        ),
    ],
    "`many` relation comes": [],  # in test_written_migrations.py, for the relation leads to the entity itself
    "`many` relation goes": [],
    "reference comes over values that refer to nothing": [
        Change(
            before=[("category_id", UUID | None, None)],
            after=[("category_id", Annotated[UUID | None, ref("categories")], None)],
            rows=[{"category_id": uuid4()}, {"category_id": None}],
            written=["fill_in.*1 row to nothing", "create_foreign_key_online"],
            noted="All are found by: SELECT",
        )
    ],
    "`search`, `search_index`": [
        filled(TITLE, "index_search.*'title'", now={"search": ["title"]}),
        filled(
            TITLE,
            r"index_search.*\[\]",
            was={"search": ["title"]},
            now={"search": ["title"], "search_index": False},
        ),
    ],
    "`on_delete`, `history`": [
        filled(
            [("title", Annotated[str, Meta(max_length=9, pattern="^[ab]$"), guarded(read="read:titles")])],
            now={"history": True},
        ),
    ],
    "`soft_delete` on": [filled(TITLE, "'is_deleted'", was={"soft_delete": False}, now={"soft_delete": True})],
    "`soft_delete` off, no deleted rows": [
        keyed(["title"], ["title"], "ensure_none_deleted", "drop_index", "op.create_index", soft_delete=False)
    ],
    "`soft_delete` off, deleted rows": [],  # refused, by itself: test_what_is_refused
    "`tenant_owned` switched": [],
}


def table() -> list[str]:
    """First cells of the table in the document."""
    text = (DOCS / "migrations.md").read_text().partition("| Change of the declaration |")[2].partition("\n\n")[0]
    return [line.split(" | ")[0].removeprefix("| ") for line in text.splitlines()[2:]]


@pytest.mark.promise(
    "migrations, workflow: each row of the table in docs/migrations.md is what is written, against a table with rows"
)
def test_each_row_of_the_table_has_its_change_here() -> None:
    rows = table()
    assert [key for key in CHANGES if sum(row.startswith(key) for row in rows) != 1] == []
    assert [row for row in rows if not any(row.startswith(key) for key in CHANGES)] == []


def registry(which: Literal["before", "after"]) -> Registry:
    """All entities as they are declared before their change, or after it."""
    made = []
    for plural, change in numbered().items():
        fields = change.before if which == "before" else change.after
        arguments = dict(change.was if which == "before" else change.now)
        if fields is not None:
            arguments["unique"] = [as_unique(key) for key in arguments.pop("unique", ())]
            arguments["indexes"] = [index(name) for name in arguments.pop("indexes", ())]
            struct: type[Struct] = defstruct(f"Case{plural}".title(), fields, rename="camel", kw_only=True)
            made.append(entity(plural, **arguments)(struct))
    return build_registry([*ENTITIES, *BUILTIN_ENTITIES, *made])


def numbered() -> dict[str, Change]:
    changes = [change for group in CHANGES.values() for change in group]
    # letters, so that no name begins with another one
    return {f"cases-{chr(97 + number // 10)}{number % 10}": change for number, change in enumerate(changes)}


@pytest.fixture(scope="module")
async def written(new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory) -> WrittenMigration:
    """One migration for all changes at once."""
    books = Books(await new_database(), tmp_path_factory.mktemp("migrations"))
    await books.start(registry("before"))
    for plural, change in numbered().items():
        await books.add(*change.rows, table=plural.replace("-", "_"))
    return await books.write(registry("after"))


def lines_about(written: WrittenMigration, table: str) -> str:
    """The part of both files' ``upgrade`` that is about a table: its locks, then its statements."""
    said = ""
    for path in (written.path, written.after):
        if path is not None:
            text = path.read_text().partition("def upgrade")[2].partition("def downgrade")[0]
            statements = re.split(r"\n    (?=\S)", text)
            said += "\n".join(statement for statement in statements if table in statement)
    return said


@pytest.mark.promise(
    "declarations, indexes and decimals: index(…) makes an index of the tenant's living rows that ends with the id"
)
@pytest.mark.promise(
    "migrations, workflow: each row of the table in docs/migrations.md is what is written, against a table with rows"
)
@pytest.mark.promise("migrations, data loss: Shorter text changes no table; longer values are counted")
@pytest.mark.parametrize("plural", numbered())
async def test_what_is_written_for_a_change(written: WrittenMigration, plural: str) -> None:
    change, table = numbered()[plural], plural.replace("-", "_")
    said = lines_about(written, table)
    if not change.written:
        assert said == ""
    at = 0
    for pattern in change.written:
        found = re.compile(pattern, re.DOTALL if "\n" in pattern else 0).search(said, at)
        assert found is not None, f"{pattern} after {said[:at]!r} in {said}"
        at = found.start() + 1
    notes = [note for note in written.notes if table in note]
    expected = change.noted.replace("TABLE", table)
    assert not expected or any(expected in note for note in notes), notes


def titled(plural: str = "books", **arguments: Any) -> Registry:
    made: type[Struct] = defstruct("Book", [("title", str), ("state", Old)], rename="camel", kw_only=True)
    return build_registry([*ENTITIES, *BUILTIN_ENTITIES, entity(plural, **arguments)(made)])


@pytest.mark.promise(
    "migrations, workflow: each row of the table in docs/migrations.md is what is written, against a table with rows"
)
async def test_unsafe_changes_are_refused_and_a_new_plural_makes_a_new_table(books: Books) -> None:
    await books.start(titled())
    await books.add({"title": "a", "state": "old", "is_deleted": True})
    with pytest.raises(MigrationRefused, match="would bring 1 deleted row of books back to life"):
        await books.write(titled(soft_delete=False))
    with pytest.raises(MigrationRefused, match="no migration can know whose its 1 rows would be"):
        await books.write(titled(tenant_owned=False))
    again = await books.write(titled("titles"))
    assert "create_table('titles'" in again.path.read_text()
    assert [note for note in again.notes if "--rename books=titles" in note]


@pytest.mark.promise(
    "migrations, renames: Stored values that an enum does not know are counted at --write, with the mapping to fill in"
)
async def test_a_preserved_enum_member_is_not_asked_about_again(books: Books) -> None:
    await books.start(titled())
    await books.add({"title": "a", "state": "old"})
    narrow = defstruct("Book", [("title", str), ("state", New)], rename="camel", kw_only=True)
    after = build_registry([*ENTITIES, *BUILTIN_ENTITIES, entity("books")(narrow)])
    first = await books.write(after)
    asked = first.path.read_text()
    call = re.search(r"op\.execute\(fill_in\(.*\)\)", asked)
    assert call is not None
    kept = asked.replace(call[0], "keep_values('books', 'state', 'old')").replace(
        "import fill_in", "import keep_values"
    )
    first.path.write_text(kept)
    await books.apply(after)
    assert await write_migration(books.url, after, "again", books.folders) is None
    await books.add({"title": "b", "state": "older"})
    again = await write_migration(books.url, after, "again", books.folders)
    assert again is not None
    text = again.path.read_text().replace("\\'", "'")
    assert ("'older' in 1 row" in text, "'old' in" in text) == (True, False)
    assert msgspec.json.encode(again.notes).count(b"'older'") == 1
