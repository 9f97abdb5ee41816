"""Records of entities with 300 fields, through every operation; and includes of more columns than a SELECT has."""

import json
from collections.abc import AsyncIterator
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from msgspec import defstruct

from adapters.memory.clock import CountingIds
from adapters.memory.database import MemoryDatabase
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from application.ports.entities.files import Loading
from application.ports.entities.records import Act, Change, NewRow
from application.ports.whole_database import WholeDatabase
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.files.csv_rows import read_rows, written
from domain.entities.markers import entity, index, many, money, ref, unique
from domain.entities.query.query import WHOLE, View
from domain.entities.query.read_query import read_export, read_query
from domain.entities.query.responses import MOST_INCLUDED_BYTES
from domain.entities.registry import build_registry
from domain.errors import ValidationError
from domain.scope import OneTenant
from tests.builders import NOW, new_id
from tests.conftest import NewDatabase

HERE = OneTenant(new_id())
ACT = Act(by=new_id(), at=NOW)
LOADING = Loading(ACT, None)
FIELDS = 300
RELATIONS = 7
TEXTS = [f"field_{number:03}_{'x' * 50}"[:60] for number in range(FIELDS - RELATIONS - 2)]
LINKS = [f"way_{number}_id" for number in range(RELATIONS)]

Wide = entity(
    "wides",
    search=TEXTS[:3],
    unique=[unique("code")],
    indexes=[index(LINKS[0], "price")],
    has_many={"others": many("wides", by=LINKS[0])},
    history=True,
)(
    defstruct(
        "Wide",
        [
            ("code", str),
            ("price", Annotated[Decimal | None, money(12, 2)], None),
            *((name, str | None, None) for name in TEXTS),
            *((name, Annotated[UUID | None, ref("wides", on_delete="clear")], None) for name in LINKS),
        ],
        kw_only=True,
    )
)

REGISTRY = build_registry([*ENTITIES, *BUILTIN_ENTITIES, Wide])
MODEL = REGISTRY["wides"]
EMPTY: dict[str, Any] = {field.name: None for field in MODEL.declared}
FULL: dict[str, Any] = EMPTY | {name: f"text of {name}" for name in TEXTS} | {"price": Decimal("1.50")}


@pytest.fixture(scope="module")
async def wide_database(
    empty_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[WholeDatabase]:
    folder: Path = tmp_path_factory.mktemp("wide")
    url = await empty_database()
    assert await write_migration(url, REGISTRY, "wide", (VERSIONS, folder)) is not None
    assert await upgrade(url, REGISTRY, (VERSIONS, folder)) == []
    opened = PostgresDatabase(url, REGISTRY, CountingIds())
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture(params=["memory", "wide_database"])
def database(request: pytest.FixtureRequest) -> WholeDatabase:
    if request.param == "memory":
        return MemoryDatabase(REGISTRY, CountingIds())
    adapter: WholeDatabase = request.getfixturevalue(request.param)
    return adapter


async def add(database: WholeDatabase, *rows: dict[str, Any]) -> list[UUID]:
    async with database.transaction(HERE) as tx:
        made = [NewRow(new_id(), {**FULL, "code": new_id().hex, **row}) for row in rows]
        return [row.id for row in await tx.records.add(MODEL, made, ACT)]


async def found(database: WholeDatabase, **parameters: str) -> list[dict[str, Any]]:
    query = read_query(MODEL, REGISTRY, frozenset(), list(parameters.items()))
    async with database.read_only(HERE) as read:
        page = await read.records.page(MODEL, query)
    items: list[dict[str, Any]] = json.loads(bytes(page.items))
    return items


async def get(database: WholeDatabase, row_id: UUID, view: View = WHOLE) -> dict[str, Any]:
    async with database.read_only(HERE) as read:
        stored = await read.records.get(MODEL, row_id, view)
    assert stored is not None
    row: dict[str, Any] = json.loads(bytes(stored.body))
    return row


@pytest.mark.promise(
    "declarations, names and sizes: Entities of 300 fields with names of 60 characters are written, changed in "
    "batches, filtered, sorted, searched, deleted and restored with their history"
)
def test_the_wide_entity_has_300_fields_with_names_of_60_characters() -> None:
    assert len(MODEL.declared) == FIELDS
    assert {len(name) for name in TEXTS} == {60}


@pytest.mark.promise(
    "declarations, names and sizes: Entities of 300 fields with names of 60 characters are written, changed in "
    "batches, filtered, sorted, searched, deleted and restored with their history"
)
async def test_a_row_is_made_and_read(database: WholeDatabase) -> None:
    (row_id,) = await add(database, {})
    row = await get(database, row_id)
    assert [row[name] for name in TEXTS] == [FULL[name] for name in TEXTS]


@pytest.mark.promise(
    "declarations, names and sizes: Entities of 300 fields with names of 60 characters are written, changed in "
    "batches, filtered, sorted, searched, deleted and restored with their history"
)
async def test_many_rows_are_made_and_changed_at_once(database: WholeDatabase) -> None:
    made = await add(database, *({} for _ in range(3)))
    changed = {name: f"new {name}" for name in TEXTS}
    async with database.transaction(HERE) as tx:
        await tx.records.change(MODEL, [Change(row_id, changed) for row_id in made], ACT)
    for row_id in made:
        row = await get(database, row_id)
        assert [row[name] for name in TEXTS] == list(changed.values())


@pytest.mark.promise(
    "declarations, names and sizes: Entities of 300 fields with names of 60 characters are written, changed in "
    "batches, filtered, sorted, searched, deleted and restored with their history"
)
async def test_a_page_is_filtered_by_many_fields_and_sorted(database: WholeDatabase) -> None:
    mark = new_id().hex
    await add(database, *({TEXTS[0]: mark, "price": Decimal(price)} for price in ("3", "1", "2")))
    asked = {TEXTS[0]: mark, **{name: FULL[name] for name in TEXTS[1:10]}, "minPrice": "1.5", "sort": "price:desc"}
    assert [row["price"] for row in await found(database, **asked)] == [3, 2]
    assert len(await found(database, search=mark)) == 3


async def test_a_page_is_filtered_by_more_relations_than_a_statement_joins(database: WholeDatabase) -> None:
    far = await add(database, *({"code": f"far {n} {new_id().hex}"} for n in range(RELATIONS)))
    near = await add(database, *({LINKS[0]: row_id, TEXTS[0]: f"near {n}"} for n, row_id in enumerate(far)))
    (row_id,) = await add(database, dict(zip(LINKS, near, strict=True)))
    await add(database, {**dict(zip(LINKS, near, strict=True)), LINKS[-1]: near[0]})
    asked = {f"way_{n}.{TEXTS[0]}": f"near {n}" for n in range(RELATIONS)}
    asked |= {f"way_{n}.way_0.code.startsWith": f"far {n}" for n in range(RELATIONS)}
    assert [row["id"] for row in await found(database, **asked)] == [str(row_id)]
    assert await found(database, **asked, page="2") == []
    assert await found(database, **{**asked, "way_6.way_0.code.startsWith": "far 5"}) == []


@pytest.mark.promise(
    "declarations, names and sizes: Entities of 300 fields with names of 60 characters are written, changed in "
    "batches, filtered, sorted, searched, deleted and restored with their history"
)
async def test_a_row_has_its_history_is_deleted_and_restored(database: WholeDatabase) -> None:
    (row_id,) = await add(database, {})
    async with database.transaction(HERE) as tx:
        await tx.records.change(MODEL, [Change(row_id, dict.fromkeys(TEXTS, "new"))], ACT)
        assert await tx.records.remove(MODEL, [row_id], ACT, None) == [row_id]
        await tx.records.restore(MODEL, row_id, ACT)
    async with database.read_only(HERE) as read:
        entries, total = await read.history.page(MODEL, row_id, 0, 10)
    assert [entry.action for entry in entries] == ["restored", "deleted", "changed", "created"]
    assert total == 4
    assert [change.field for change in entries[2].changes] == TEXTS
    assert (await get(database, row_id))[TEXTS[-1]] == "new"


@pytest.mark.promise("declarations, names and sizes: They are exported and imported")
@pytest.mark.parametrize("form", ["csv", "json"])
async def test_rows_are_exported_with_included_relations(database: WholeDatabase, form: Literal["csv", "json"]) -> None:
    mark = new_id().hex
    (other,) = await add(database, {})
    await add(database, {TEXTS[-1]: mark, LINKS[0]: other})
    query = read_export(MODEL, REGISTRY, frozenset(), [(TEXTS[-1], mark), ("include", "way_0")])
    async with database.read_only(HERE) as read:
        text = b"".join([piece async for piece in read.transfers.pieces(MODEL, query, form)]).decode()
    assert text.count(mark) == 1
    assert text.count(FULL[TEXTS[0]]) == 2


@pytest.mark.promise("declarations, names and sizes: They are exported and imported")
@pytest.mark.parametrize("form", ["csv", "cells"])
async def test_rows_are_exported_with_more_cells_than_a_select_has(
    database: WholeDatabase, form: Literal["csv", "cells"]
) -> None:
    mark, names = new_id().hex, [link.removesuffix("_id") for link in LINKS]
    others = await add(database, *({TEXTS[0]: f"of {name}"} for name in names))
    tricky = {TEXTS[0]: 'a,"b"\r\nc\nd\\', TEXTS[1]: "", TEXTS[2]: "=1+1", TEXTS[3]: None, TEXTS[4]: "é\t\u2028"}
    await add(database, {TEXTS[-1]: mark, **tricky, **dict(zip(LINKS, others, strict=True))}, {TEXTS[-1]: mark})
    include = ",".join([*names, "way_0.way_1"])
    for value, rows in ((mark, 2), ("nothing", 0)):
        asked = [(TEXTS[-1], value), ("include", include), ("sort", "createdAt:asc")]
        query = read_export(MODEL, REGISTRY, frozenset(), asked)
        async with database.read_only(HERE) as read:
            text = b"".join([piece async for piece in read.transfers.pieces(MODEL, query, form)]).decode()
        lines = list(read_rows(StringIO(text, newline="")))
        assert len(lines) == rows + (form == "csv")
        # as RFC 4180 ends a line of CSV; cells are for a reader of our own
        assert text.endswith("\r\n") is (form == "csv")
        head = lines[0] if form == "csv" else None
        if head is not None:
            assert (len(head), head[0]) == (9 * len(MODEL.fields), "id")
            assert "way_0.way_1.deletedBy" in head
        if rows:
            row = lines[-2]
            assert len(row) == 9 * len(MODEL.fields)
            escaped = "'=1+1" if form == "csv" else "=1+1"
            assert row[3:8] == [tricky[TEXTS[0]], "", escaped, None, tricky[TEXTS[4]]]
            assert [cell for cell in row if cell is not None and cell.startswith("of ")] == [
                f"of {name}" for name in names
            ]
            assert [cell for cell in lines[-1][len(MODEL.fields) :] if cell is not None] == []


@pytest.mark.promise("declarations, names and sizes: They are exported and imported")
async def test_rows_are_imported(database: WholeDatabase) -> None:
    code = new_id().hex

    async def lines() -> AsyncIterator[bytes]:
        cells = {"code": code, **{name: f"in {name}" for name in TEXTS}}
        yield written(["2", str(new_id()), *(cells.get(field.wire) for field in MODEL.declared)]).encode()

    async with database.transaction(HERE) as tx:
        loaded = await tx.transfers.load(MODEL, lines(), LOADING)
    assert (loaded.imported, loaded.skipped, list(loaded.errors)) == (1, 0, [])
    (row,) = await found(database, code=code)
    assert [row[name] for name in TEXTS] == [f"in {name}" for name in TEXTS]


@pytest.mark.promise("declarations, names and sizes: Includes have more columns than the 1,664 that a SELECT takes")
async def test_includes_have_more_columns_than_a_select(database: WholeDatabase) -> None:
    """Seven rows of 300 fields beside a row of 300 fields: PostgreSQL takes 1,664 columns."""
    others = await add(database, *({"price": Decimal(number)} for number in range(RELATIONS)))
    row_id, lonely = await add(database, dict(zip(LINKS, others, strict=True)), {})
    names = [link.removesuffix("_id") for link in LINKS]
    view = View(include=tuple((name,) for name in names))
    row = await get(database, row_id, view)
    assert [row[name]["id"] for name in names] == [str(other) for other in others]
    assert [row[name]["price"] for name in names] == list(range(RELATIONS))
    assert {row[names[-1]][name] for name in TEXTS} == {FULL[name] for name in TEXTS}
    assert {(await get(database, lonely, view))[name] for name in names} == {None}
    for asked in (row_id, lonely):
        page = await found(database, id=str(asked), include=",".join([*names, "way_0.way_1", "others"]))
        assert {name: page[0][name] and page[0][name]["id"] for name in names} == {
            name: (await get(database, asked, view))[name] and str(others[number]) for number, name in enumerate(names)
        }


@pytest.mark.promise("declarations, names and sizes: Includes have more columns than the 1,664 that a SELECT takes")
async def test_a_row_included_as_json_is_written_like_any_other(database: WholeDatabase) -> None:
    (other,) = await add(database, {"price": Decimal("10.00")})
    (row_id,) = await add(database, {LINKS[0]: other})
    names = [link.removesuffix("_id") for link in LINKS]
    few = await get(database, row_id, View(include=((names[0],),)))
    many_more = await get(database, row_id, View(include=tuple((name,) for name in names)))
    assert many_more[names[0]] == few[names[0]]
    assert list(many_more[names[0]]) == list(few[names[0]])


@pytest.mark.promise("entities, details: the lists that are included in an answer have at most 32 MiB")
async def test_lists_in_rows_included_as_json_are_bounded(database: WholeDatabase) -> None:
    """Two rows whose lists are short enough each, and too long together."""
    text = "x" * (MOST_INCLUDED_BYTES // 3)
    first, second = await add(database, {}, {})
    for owner in (first, second):
        await add(database, *({LINKS[0]: owner, TEXTS[-1]: text} for _ in range(2)))
    mark = new_id().hex
    rows = await add(database, *({TEXTS[0]: mark, LINKS[1]: owner} for owner in (first, second)), {TEXTS[0]: mark})
    names = [link.removesuffix("_id") for link in LINKS]
    include = ",".join([*names, "way_1.others"])
    with pytest.raises(ValidationError) as caught:
        await found(database, **{TEXTS[0]: mark, "include": include})
    assert [error.field for error in caught.value.fields] == ["include"]
    page = await found(database, **{TEXTS[0]: mark, "include": include, "pageSize": "1", "sort": "createdAt:asc"})
    assert [len(row["way_1"]["others"]) for row in page] == [2]
    view = View(include=tuple(tuple(way.split(".")) for way in include.split(",")))
    assert (await get(database, rows[2], view))["way_1"] is None
    assert len((await get(database, rows[0], view))["way_1"]["others"]) == 2
    await add(database, {LINKS[0]: first, TEXTS[-1]: text})
    with pytest.raises(ValidationError):
        await get(database, rows[0], view)
