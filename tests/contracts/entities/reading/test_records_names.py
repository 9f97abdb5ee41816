"""Records of entities whose names are words of SQL or as long as names may be, through every operation."""

import json
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID, uuid4

import asyncpg
import pytest
from msgspec import Struct, defstruct

from adapters.memory.clock import CountingIds
from adapters.memory.database import MemoryDatabase
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.entities.reading.plans import plans_of, recommended_indexes
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from application.ports.entities.files import Loading
from application.ports.entities.records import Act, Change, NewRow
from application.ports.whole_database import WholeDatabase
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.files.csv_rows import written
from domain.entities.markers import entity, index, many, money, ref, unique
from domain.entities.query.query import WHOLE, View
from domain.entities.query.read_query import read_export, read_query
from domain.entities.registry import build_registry
from domain.errors import Conflict
from domain.scope import OneTenant
from tests.builders import NOW, new_id
from tests.conftest import NewDatabase

HERE = OneTenant(new_id())
ACT = Act(by=new_id(), at=NOW)
LONG, LONG_ID = "l" * 60, "k" * 57 + "_id"
LONG_TWIN, LONG_ID_TWIN = "l" * 59 + "m", "k" * 56 + "l_id"
"""Names that differ from the former in their last letters only, which PostgreSQL would cut behind a prefix."""
LONG_ENTITY = "e" * 60


@entity("all", unique=[unique("user", ignore_case=True)], has_many={"references": many("references", by="from")})
class All(Struct, rename="camel", kw_only=True):
    user: str


References = entity(
    "references",
    search=["order", LONG],
    unique=[unique("order", ignore_case=True), unique("group", "pg_class", LONG)],
    indexes=[index("from", "select"), index("order", "group", LONG)],
    sort="-order",
    history=True,
    has_many={"itself": many("references", by="table")},
)(
    defstruct(
        "References",
        [
            ("order", str),
            ("group", str),
            ("pg_class", int | None, None),
            ("select", Annotated[Decimal, money(12, 2)], Decimal("0.00")),
            ("from", Annotated[UUID | None, ref("all", on_delete="clear", relation="where")], None),
            ("table", Annotated[UUID | None, ref("references", on_delete="cascade", relation="having")], None),
            (LONG, str | None, None),
            (LONG_ID, Annotated[UUID | None, ref(LONG_ENTITY, on_delete="cascade")], None),
            (LONG_TWIN, str | None, None),
            (LONG_ID_TWIN, Annotated[UUID | None, ref(LONG_ENTITY, on_delete="cascade")], None),
        ],
        namespace={"check": lambda _row, _before: ()},
        kw_only=True,
    )
)
Long = entity(LONG_ENTITY, unique=[unique(LONG)], has_many={"n" * 60: many("references", by=LONG_ID)})(
    defstruct("Long", [(LONG, str)], kw_only=True)
)

NAMES = build_registry([*ENTITIES, *BUILTIN_ENTITIES, All, References, Long])
MODEL = NAMES["references"]


@pytest.fixture(scope="module")
async def names_url(empty_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder: Path = tmp_path_factory.mktemp("names")
    url = await empty_database()
    assert await write_migration(url, NAMES, "names", (VERSIONS, folder)) is not None
    assert await upgrade(url, NAMES, (VERSIONS, folder)) == []
    # A second migration would be written if the names came back from the database in another form.
    assert await write_migration(url, NAMES, "again", (VERSIONS, folder)) is None
    return url


@pytest.fixture(scope="module")
async def names_database(names_url: str) -> AsyncIterator[WholeDatabase]:
    opened = PostgresDatabase(names_url, NAMES, CountingIds())
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture(params=["memory", "names_database"])
def database(request: pytest.FixtureRequest) -> WholeDatabase:
    if request.param == "memory":
        return MemoryDatabase(NAMES, CountingIds())
    adapter: WholeDatabase = request.getfixturevalue(request.param)
    return adapter


async def add(database: WholeDatabase, plural: str, *rows: dict[str, object]) -> list[UUID]:
    model = NAMES[plural]
    empty = {field.name: None if field.required else field.default for field in model.declared}
    async with database.transaction(HERE) as tx:
        stored = await tx.records.add(model, [NewRow(new_id(), {**empty, **row}) for row in rows], ACT)
    return [row.id for row in stored]


async def found(database: WholeDatabase, **parameters: str) -> list[dict[str, Any]]:
    query = read_query(MODEL, NAMES, frozenset(), list(parameters.items()))
    async with database.read_only(HERE) as read:
        page = await read.records.page(MODEL, query)
    items: list[dict[str, Any]] = json.loads(bytes(page.items))
    return items


@pytest.mark.promise(
    "declarations, checks: names have at most 60 bytes, so that no prefix makes more than 63; names of 60 bytes work "
    "in tables, indexes and every operation"
)
@pytest.mark.promise(
    "declarations, names and sizes: Words of SQL (order, references, all, group, user, table, from) and pg_class are "
    "names of entities, fields and relations in every operation"
)
async def test_rows_are_written_found_included_and_deleted(database: WholeDatabase) -> None:
    mark = uuid4().hex
    (parent,) = await add(database, "all", {"user": mark})
    (long,) = await add(database, LONG_ENTITY, {LONG: mark})
    first, second = await add(
        database,
        "references",
        {"order": f"a{mark}", "group": mark, LONG: "x", "from": parent, LONG_ID: long},
        {"order": f"b{mark}", "group": mark, LONG: "y", "from": parent, "select": Decimal("2.50")},
    )
    async with database.transaction(HERE) as tx:
        changes = [Change(first, {"table": second, "select": Decimal("1.00")}), Change(second, {"pg_class": 7})]
        assert len(await tx.records.change(MODEL, changes, ACT)) == 2
        assert len(await tx.records.change(MODEL, [Change(first, {LONG: "z", "order": f"c{mark}"})], ACT)) == 1
    include = f"where.references,having,{LONG_ID.removesuffix('_id')}.{'n' * 60},itself"
    asked = {"group": mark, "sort": f"where.user:desc,select,{LONG}", "include": include, "search": mark}
    rows = await found(database, **asked, **{f"{LONG}.startsWith": "z", "having.pg_class.gte": "7"})
    assert [row["order"] for row in rows] == [f"c{mark}"]
    assert rows[0]["having"]["id"] == str(second)
    assert rows[0]["k" * 57][LONG] == mark
    assert [row["order"] for row in await found(database, group=mark, sort="select")] == [f"c{mark}", f"b{mark}"]
    async with database.transaction(HERE) as tx:
        assert await tx.records.remove(MODEL, [second], ACT, None) == [second]
        await tx.records.restore(MODEL, second, ACT)
        assert await tx.records.remove(NAMES["all"], [parent], ACT, None) == [parent]
        assert await tx.records.remove(NAMES[LONG_ENTITY], [long], ACT, None) == [long]
        assert await tx.records.purge(MODEL, [second], ACT, None) == [second]
    async with database.read_only(HERE) as read:
        assert await read.records.get(MODEL, first, View(include_deleted=True)) is None
        assert await read.records.get(MODEL, second, WHOLE) is None


@pytest.mark.promise(
    "declarations, names and sizes: Words of SQL (order, references, all, group, user, table, from) and pg_class are "
    "names of entities, fields and relations in every operation"
)
@pytest.mark.parametrize(
    "values",
    [
        ({LONG: "a"}, {LONG_TWIN: "b"}),
        ({LONG: "a", LONG_TWIN: "b"}, {LONG: "c"}),
        ({LONG_ID: None}, {LONG_TWIN: None, LONG: "a"}),
        ({LONG_TWIN: "a", LONG: None}, {LONG_TWIN: "b", LONG: "c"}),
        ({"order": "ORDER-1", LONG: "c"}, {"order": "ORDER-0", LONG_TWIN: "d"}),
    ],
)
async def test_items_of_a_batch_change_different_fields_of_long_names(
    database: WholeDatabase, values: tuple[dict[str, object], ...]
) -> None:
    mark = uuid4().hex
    (long,) = await add(database, LONG_ENTITY, {LONG: mark})
    row = {"group": mark, LONG_ID: long, LONG_ID_TWIN: long}
    ids = await add(database, "references", *({**row, "order": f"{mark}-{n}", LONG: str(n)} for n in range(2)))
    (single,) = await add(database, "references", {**row, "order": mark})
    sent = [{**each, **({"order": f"{mark}{str(each['order'])[5:]}"} if "order" in each else {})} for each in values]
    async with database.transaction(HERE) as tx:
        await tx.records.change(MODEL, [Change(single, {LONG_ID: long, LONG_ID_TWIN: long})], ACT)
        before = await tx.records.current(MODEL, ids)
        await tx.records.change(MODEL, [Change(row_id, each) for row_id, each in zip(ids, sent, strict=True)], ACT)
        after = await tx.records.current(MODEL, ids)
    assert [after[row_id].values for row_id in ids] == [
        {**before[row_id].values, **each} for row_id, each in zip(ids, sent, strict=True)
    ]


@pytest.mark.promise(
    "declarations, names and sizes: Words of SQL (order, references, all, group, user, table, from) and pg_class are "
    "names of entities, fields and relations in every operation"
)
async def test_taken_values_are_named(database: WholeDatabase) -> None:
    mark = uuid4().hex
    await add(database, "references", {"order": mark, "group": mark, "pg_class": 1, LONG: "x"})
    for count in (1, 2):
        rows = [{"order": f"{n}{mark}", "group": mark, "pg_class": 1, LONG: "x"} for n in range(count)]
        with pytest.raises(Conflict) as caught:
            await add(database, "references", *rows)
        assert {error.field.split(".")[-1] for error in caught.value.fields} == {"group", "pg_class", LONG}
    with pytest.raises(Conflict) as caught:
        await add(database, "references", {"order": mark.upper(), "group": "other"})
    assert [error.field for error in caught.value.fields] == ["order"]


@pytest.mark.promise(
    "declarations, names and sizes: Words of SQL (order, references, all, group, user, table, from) and pg_class are "
    "names of entities, fields and relations in every operation"
)
async def test_files_are_written_and_read(database: WholeDatabase) -> None:
    mark = uuid4().hex
    await add(database, "references", {"order": mark, "group": mark, LONG: "x"})
    query = read_export(MODEL, NAMES, frozenset(), [("group", mark), ("sort", LONG), ("include", "where,having")])
    for form in ("csv", "json"):
        async with database.read_only(HERE) as read:
            text = b"".join([piece async for piece in read.transfers.pieces(MODEL, query, form)])
        assert mark.encode() in text
        if form == "csv":
            # of more bytes than the server takes for the name of a column
            assert f"having.{LONG}" in text.decode().splitlines()[0].split(",")

    async def lines() -> AsyncIterator[bytes]:
        cells = {"order": f"n{mark}", "group": mark, "select": "1.00", LONG: "new"}
        values = [cells.get(field.wire) for field in MODEL.declared]
        yield written(["2", str(new_id()), *values]).encode()

    async with database.transaction(HERE) as tx:
        loaded = await tx.transfers.load(MODEL, lines(), Loading(ACT, None))
    assert (loaded.imported, loaded.skipped, list(loaded.errors)) == (1, 0, [])

    async def changed() -> AsyncIterator[bytes]:
        cells = {"order": f"n{mark}", LONG_TWIN: "newer"}
        flags = "".join("01"[name in cells] for name in MODEL.names)
        yield written(["2", str(new_id()), flags, None, None, *(cells.get(name) for name in MODEL.names)]).encode()

    async with database.transaction(HERE) as tx:
        loaded = await tx.transfers.load(MODEL, changed(), Loading(ACT, MODEL.by_name["order"]))
    assert (loaded.imported, loaded.skipped, list(loaded.errors)) == (1, 0, [])
    assert len(await found(database, group=mark)) == 2


@pytest.mark.promise(
    "declarations, indexes and decimals: entities --plans recommends it, and says which queries an index finds"
)
async def test_declared_indexes_serve_their_queries(names_url: str) -> None:
    planned = {plan.asked: plan.scans for plan in (await plans_of(names_url, NAMES))["references"]}
    assert planned["from=…&minSelect=…&sort=select"] is None
    assert planned[f"order=…&group=…&sort={LONG}"] is None


@pytest.mark.promise(
    "declarations, indexes and decimals: index(…) makes an index of the tenant's living rows that ends with the id"
)
async def test_a_declared_index_starts_with_the_tenant_and_ends_with_the_id(names_url: str) -> None:
    connection = await asyncpg.connect(names_url)
    made = await connection.fetchval("SELECT indexdef FROM pg_indexes WHERE indexname = 'ix_references_by_from_select'")
    await connection.close()
    assert made.endswith('USING btree (tenant_id, "from", "select$e2", id) WHERE (NOT is_deleted)')


@pytest.mark.promise(
    "declarations, indexes and decimals: entities --plans recommends it, and says which queries an index finds"
)
def test_an_index_is_recommended_for_amounts_below_a_reference() -> None:
    fields = [("all_id", Annotated[UUID, ref("all")]), ("price", Annotated[Decimal, money(12, 2)])]
    offer = entity("offers")(defstruct("Offer", fields, rename="camel", kw_only=True))
    offers = build_registry([All, References, Long, offer])["offers"]
    (advice,) = recommended_indexes(offers)
    assert advice.endswith('allId=…&minPrice=…&sort=price, declare indexes=[index("all_id", "price")]')
    assert list(recommended_indexes(NAMES["products"])) == []
    assert not any('index("from", "select")' in advice for advice in recommended_indexes(MODEL))
