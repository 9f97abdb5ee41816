"""Files of migrations: renames, downgrades, a fixed order, and values that the declaration does not know."""

import asyncio
import json
import os
import re
import sys
from datetime import datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID, uuid4

import pytest
from msgspec import Meta, defstruct

from adapters.postgres.migrations.migrate import discard, downgrade, upgrade, write_migration
from adapters.postgres.migrations.pending import MigrationRefused, pending
from adapters.postgres.migrations.stored_values import stored_misfits
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.declaration import Registry
from domain.entities.markers import Many, entity, many, money, ref, unique
from domain.entities.registry import build_registry
from tests.adapters.postgres.migrations.changed_books import Books, Fields, declared, fill_in, many_sets
from tests.entrypoints.processes import ROOT

PARENT: Fields = [("parent_id", Annotated[UUID | None, ref("books")], None)]
PARTS = {"parts": many("books", by="parent_id")}


@pytest.mark.promise(
    "migrations, workflow: a file is undone by its downgrade, with defaults and renames, and applied again"
)
@pytest.mark.promise(
    "migrations, renames: a field that goes while another comes is offered as a rename, with the number of rows that "
    "stay behind otherwise"
)
@pytest.mark.promise(
    "migrations, renames: --rename keeps values and indexes of a field; a name that is none is refused"
)
async def test_a_rename_preserves_values_and_indexes_and_can_be_undone(books: Books) -> None:
    before = declared([("code", str)], unique=[unique("code")])
    await books.start(before)
    await books.add({"code": "x"})
    after = declared([("sku", str)], unique=[unique("sku")])
    plain = await books.write(after)
    assert "books.code goes and books.sku comes: the value of 1 row stays behind otherwise." in plain.notes[-1] or any(
        "--rename books.code=sku" in note for note in plain.notes
    )
    await discard(books.url, books.folders)
    written = await books.migrate(after, "code=sku")
    assert written.notes == ()
    assert await books.ask("SELECT sku FROM books") == [("x",)]
    assert await books.ask("SELECT 1 FROM pg_indexes WHERE indexname = 'uq_books_sku'") == [(1,)]
    assert await write_migration(books.url, after, "again", books.folders) is None
    assert await downgrade(books.url, after, books.folders) == [written.path]
    assert await books.ask("SELECT code FROM books") == [("x",)]
    with pytest.raises(MigrationRefused, match="--rename cod=sku names no field or entity"):
        await books.write(after, "cod=sku")


async def test_a_rename_among_other_new_fields_is_offered_by_its_type(books: Books) -> None:
    await books.start(declared([("title", str), ("city", str), ("pages", int)]))
    await books.add({"title": "a", "city": "Ulm", "pages": 7})
    written = await books.migrate(declared([("title", str), ("town", str, "?"), ("size", int, 0), ("weight", int, 0)]))
    offered = re.findall(r"--rename (\S+)", "\n".join(written.notes))
    assert offered == ["books.city=town", "books.pages=size", "books.pages=weight"]
    later = await books.write(declared([("title", str), ("town", str, "?"), ("size", int, 0), ("volume", str, "?")]))
    assert not re.findall(r"--rename books.city", "\n".join(later.notes))


@pytest.mark.parametrize(
    ("fields", "renamed", "names"),
    [
        (["code", "code_extra"], ["sku", "code_extra"], ["uq_books_code_extra_{}", "uq_books_code_extra"]),
        (["books"], ["volumes"], ["uq_books_{}", "pk_books"]),
        (["uq", "ix"], ["kind", "ix"], ["uq_books_ix_{}", "uq_books_{}"]),
    ],
)
async def test_renaming_a_field_renames_only_the_indexes_that_contain_it(
    books: Books, fields: list[str], renamed: list[str], names: list[str]
) -> None:
    def made(columns: list[str]) -> Registry:
        uniques = [unique(column) for column in columns] + ([unique(*reversed(columns))] if columns[1:] else [])
        return declared([(column, str) for column in columns], unique=uniques)

    await books.start(made(fields))
    written = await books.migrate(made(renamed), f"{fields[0]}={renamed[0]}")
    assert "drop_index" not in written.path.read_text()
    listed = {name for (name,) in await books.ask("SELECT indexname::text FROM pg_indexes WHERE tablename = 'books'")}
    assert {name.format(renamed[0]) for name in names} <= listed
    assert await write_migration(books.url, made(renamed), "again", books.folders) is None


@pytest.mark.promise("migrations, renames: an entity is renamed with its rows, indexes, policies and history")
async def test_an_entity_is_renamed_with_its_rows_and_its_history(books: Books) -> None:
    fields: Fields = [("title", str), ("isbn", str)]
    await books.start(declared(fields, unique=[unique("isbn")]))
    await books.add({"title": "a", "isbn": "1"})
    await books.ask(
        "INSERT INTO row_history (tenant_id, entity, row_id, version, action, at, changes)"
        " VALUES ($1, 'books', $1, 1, 'create', now(), '{}')",
        books.tenant,
    )
    after = declared(fields, plural="printed-titles", unique=[unique("isbn")])
    plain = await books.write(after)
    assert [note for note in plain.notes if "--rename books=printed_titles" in note and "1 row" in note]
    await discard(books.url, books.folders)
    await books.migrate(after, "books=printed-titles")
    assert await books.ask("SELECT title FROM printed_titles") == [("a",)]
    assert await books.ask("SELECT entity FROM row_history") == [("printed-titles",)]
    assert await write_migration(books.url, after, "again", books.folders) is None
    assert await books.ask("SELECT 1 FROM pg_policies WHERE tablename = 'printed_titles'") == [(1,)]


@pytest.mark.promise(
    "migrations, renames: a renamed field takes what histories tell of it along, decimals with their scale"
)
async def test_renaming_a_field_renames_it_in_the_history(books: Books) -> None:
    price = Annotated[Decimal, money(8, 2)]
    await books.start(declared([("list_price", price), ("title", str)], history=True))
    added = (
        "INSERT INTO row_history (tenant_id, entity, row_id, version, action, at, changes)"
        " VALUES ($1, $2, $1, 1, 'created', now(), $3)"
    )
    title, price_line = (
        '{"field" : "title", "from" : null, "to" : "listPrice"}',
        '{"field" : "listPrice", "from" : 1, "to" : 2.50}',
    )
    changes = f"[{title}, {price_line}]"
    for entity_name in ("books", "loans"):
        await books.ask(added, books.tenant, entity_name, changes)
    after = declared([("full_price", price), ("title", str)], history=True)
    written = await books.migrate(after, "list_price=full_price")
    told = "SELECT entity, changes::text FROM row_history ORDER BY entity"
    (_, of_books), (_, of_others) = await books.ask(told)
    assert [change["field"] for change in json.loads(of_books)] == ["title", "fullPrice"]
    assert [change["to"] for change in json.loads(of_books)] == ["listPrice", 2.5]
    assert "2.50" in of_books
    assert of_others == changes
    assert await downgrade(books.url, after, books.folders) == [written.path, written.after]
    assert [change["field"] for change in json.loads((await books.ask(told))[0][1])] == ["title", "listPrice"]


@pytest.mark.promise(
    "migrations, renames: a renamed field takes what histories tell of it along, decimals with their scale"
)
async def test_renaming_a_field_without_history_changes_no_history(books: Books) -> None:
    await books.start(declared([("code", str)]))
    written = await books.migrate(declared([("sku", str)]), "code=sku")
    assert "rename('field'" not in written.path.read_text()


class Wide(Enum):
    NEW, OLD = "new", "old"


class Narrow(Enum):
    NEW = "new"


@pytest.mark.promise("migrations, data loss: Shorter text changes no table; longer values are counted")
@pytest.mark.promise(
    "migrations, renames: Stored values that an enum does not know are counted at --write, with the mapping to fill in"
)
async def test_values_that_the_declaration_does_not_know_are_counted(books: Books) -> None:
    await books.start(declared([("state", Wide), ("title", Annotated[str, Meta(max_length=20)])]))
    await books.add({"state": "old", "title": "a"}, {"state": "new", "title": "a long title"})
    narrow: Fields = [("state", Narrow), ("title", Annotated[str, Meta(max_length=5)])]
    unknown = "books.state has values that its enum does not know: 'old' in 1 row."
    shorter = "books.title is longer than the 5 characters of its declaration in 1 row."
    found = await stored_misfits(books.url, declared(narrow), books.folders)
    assert [note.partition(". ")[0] + "." for note in found] == [unknown, shorter]
    written = await books.write(declared([*narrow, ("pages", int | None, None)]))
    assert set(found) <= set(written.notes)


async def test_a_number_that_becomes_an_enum_waits_for_its_members(books: Books) -> None:
    await books.start(declared([("state", int)]))
    await books.add({"state": 1}, {"state": 2})
    narrow = declared([("state", Narrow)])
    written = await books.write(narrow)
    assert "2 of 2 rows would change or fail" in written.notes[0]
    fill_in(written.path, repr("'new'"))
    await books.apply(narrow)
    assert await books.ask("SELECT DISTINCT state FROM books") == [("new",)]
    assert await write_migration(books.url, narrow, "again", books.folders) is None


CASTS: list[tuple[Any, Any, str]] = [
    (list[str], list[UUID], "becomes UUID[] from TEXT[]"),
    (str, datetime, "becomes TIMESTAMP WITH TIME ZONE from TEXT"),
    (str, float, "becomes DOUBLE PRECISION from TEXT"),
]


async def test_the_suggested_cast_is_accepted_by_postgresql(books: Books) -> None:
    """All at once: each is that of a field of its own."""
    names = [f"value{number}" for number in range(len(CASTS))]
    await books.start(declared([(name, case[0] | None, None) for name, case in zip(names, CASTS, strict=True)]))
    await books.add(dict.fromkeys(names))
    converted = declared([(name, case[1] | None, None) for name, case in zip(names, CASTS, strict=True)])
    written = await books.write(converted)
    for name, note, (_, _, told) in zip(names, written.notes, CASTS, strict=True):
        assert note.startswith(f"books.{name} {told}")
        fill_in(written.path, repr(note.partition("such as '")[2].partition("'")[0]))
    await books.apply(converted)
    assert await books.ask(f"SELECT {', '.join(names)} FROM books") == [(None,) * len(CASTS)]


async def test_an_empty_table_of_the_example_is_not_offered_for_another_entity(books: Books) -> None:
    fields: Fields = [("name", str), ("description", str | None, None)]
    made = entity("genres")(defstruct("Genre", fields, rename="camel", kw_only=True))
    written = await books.write(build_registry([*BUILTIN_ENTITIES, made]))
    assert [note for note in written.notes if "--rename" in note] == []


@pytest.mark.promise(
    "migrations, renames: Stored values that an enum does not know are counted at --write, with the mapping to fill in"
)
async def test_members_that_an_enum_does_not_know_wait_for_their_mapping(books: Books) -> None:
    await books.start(declared([("state", Wide)]))
    await books.add({"state": "old"}, {"state": "new"})
    narrow = declared([("state", Narrow)])
    written = await books.write(narrow)
    with pytest.raises(
        MigrationRefused, match=r"filled in: books\.state has values .*'old' in 1 row.*UPDATE books SET"
    ):
        await books.apply(narrow)
    fill_in(written.path, "\"UPDATE books SET state = 'new' WHERE state = 'old'\"")
    await books.apply(narrow)
    assert await books.ask("SELECT DISTINCT state FROM books") == [("new",)]
    assert await stored_misfits(books.url, narrow, books.folders) == []
    assert await write_migration(books.url, narrow, "again", books.folders) is None


@pytest.mark.promise(
    "migrations, workflow: a file is undone by its downgrade, with defaults and renames, and applied again"
)
async def test_a_file_is_undone_by_its_downgrade(books: Books) -> None:
    first = declared([("title", str)])
    await books.migrate(first)
    await books.add({"title": "a"})
    later = declared(
        [("title", str | None, None), ("x", Annotated[Decimal, money(8, 2)], Decimal(1))], unique=[unique("x")]
    )
    await books.migrate(later)
    await downgrade(books.url, later, books.folders)
    await discard(books.url, books.folders)
    assert await pending(books.url, first, books.folders) == []
    assert await write_migration(books.url, first, "nothing", books.folders) is None
    await downgrade(books.url, first, books.folders)
    assert await books.ask("SELECT to_regclass('books')::text") == [(None,)]
    await upgrade(books.url, first, books.folders)
    assert await books.ask("SELECT count(*) FROM books") == [(0,)]


@pytest.mark.promise(
    "migrations, workflow: --write writes a file and changes no database, also while files are pending; migrate "
    "applies; --sql prints"
)
async def test_writing_changes_no_database_even_while_files_are_pending(books: Books) -> None:
    first = await books.write(declared([("title", str)]))
    second = await books.write(declared([("title", str), ("pages", int | None, None)]))
    assert await books.ask("SELECT to_regclass('books')::text") == [(None,)]
    assert "create_table" not in second.path.read_text()
    assert first.path < second.path
    await books.apply(declared([("title", str), ("pages", int | None, None)]))
    assert await books.ask("SELECT title, pages FROM books") == []


def test_fill_in_finds_the_whole_call(tmp_path: Path) -> None:
    path = tmp_path / f"{uuid4()}.py"
    path.write_text("def upgrade():\n    f(1, x=fill_in('a (b) \\' \"c'))\n")
    fill_in(path, "7")
    assert path.read_text() == "def upgrade():\n    f(1, x=7)\n"


SEEDED = """
import asyncio, sys
from pathlib import Path
from adapters.postgres.migrations.migrate import write_migration
from adapters.postgres.migrations.pending import VERSIONS
from domain.entities.declaration import Registry
from tests.adapters.postgres.migrations.changed_books import many_sets
folder = Path(sys.argv[2])
written = asyncio.run(write_migration(sys.argv[1], many_sets(linked=True), "sets", [VERSIONS, folder]))
print(*(path.read_text() for path in (written.path, written.after) if path is not None))
"""


@pytest.mark.promise("migrations, workflow: a file is the same at each run, foreign keys included")
async def test_a_file_is_the_same_whatever_the_order_of_sets(books: Books, tmp_path: Path) -> None:
    """Keys of new tables, and keys that tables which are there get."""
    await books.start(many_sets(linked=False))
    texts = set()
    for seed in range(3):
        folder = tmp_path / str(seed)
        folder.mkdir()
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            SEEDED,
            books.url,
            str(folder),
            stdout=asyncio.subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)},
        )
        printed = (await process.communicate())[0].decode()
        for tables in ("authors|books|loans", "poets|poems|plays"):
            assert len(re.findall(rf"fk_(?:{tables})_", printed)) >= 18
        texts.add(re.sub(r"\d{14}", "", printed))
    assert len(texts) == 1


@pytest.mark.parametrize(
    ("was", "now", "written"),
    [
        ({}, PARTS, "'ix_books_parent_id_order', 'books', ['tenant_id', 'parent_id', 'created_at', 'id']"),
        (PARTS, {}, "'ix_books_parent_id', 'books', ['tenant_id', 'parent_id']"),
    ],
)
async def test_a_many_relation_changes_the_index_of_its_reference(
    books: Books, was: dict[str, Many], now: dict[str, Many], written: str
) -> None:
    await books.start(declared(PARENT, has_many=was))
    made = await books.write(declared(PARENT, has_many=now))
    upgrading = " ".join(made.path.read_text().partition("def downgrade")[0].split())
    assert f"create_index_online({written}" in upgrading.replace("( ", "(")
    assert "drop_index" not in upgrading
