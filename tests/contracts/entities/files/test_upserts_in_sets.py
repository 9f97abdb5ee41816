"""Imports that change rows of an entity with several unique values: as few statements as for one with a single one.

Rows whose stored value the enum does not know any more: they are read, found and mended.
"""

from collections.abc import AsyncIterator
from decimal import Decimal
from urllib.parse import parse_qsl
from uuid import UUID

import msgspec
import pytest
from msgspec import Struct

from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from application.entities.checks.conditional_changes import change_of
from application.entities.checks.rule_rows import TransactionRows
from application.entities.writing import Write
from application.ports.entities.files import Loaded, Loading
from application.ports.entities.records import Act, Change, NewRow, RowPage
from application.ports.whole_database import WholeDatabase
from domain.entities.bodies import FieldAccess, read_changes_from
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.declaration import Registry
from domain.entities.exact_values import made_of_json
from domain.entities.files.csv_rows import written
from domain.entities.markers import entity, unique
from domain.entities.query.cursors import read_cursor, write_cursor
from domain.entities.query.query import View
from domain.entities.query.read_query import read_query
from domain.entities.registry import build_registry
from domain.errors import Forbidden, NotFound
from domain.scope import OneTenant
from tests.builders import NOW, new_id
from tests.conftest import NewDatabase
from tests.contracts.entities.writing.test_writing import ADA, THERE, Desk
from tests.contracts.entities.writing.test_writing import HERE as HERE_OF_UNKNOWN_MEMBERS
from tests.library import Condition, Volume


@entity("parts", unique=[unique("number"), unique("name", ignore_case=True)], history=True)
class Part(Struct, kw_only=True):
    number: str
    name: str
    stock: int = 0


REGISTRY = build_registry([*BUILTIN_ENTITIES, Part])
PARTS = REGISTRY["parts"]
HERE, ACT = OneTenant(new_id()), Act(by=new_id(), at=NOW)
STORED = "SELECT number, name, stock, version FROM parts ORDER BY number"


@pytest.fixture
async def database(
    new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[PostgresDatabase]:
    url, folders = await new_database(), [VERSIONS, tmp_path_factory.mktemp("migrations")]
    assert await write_migration(url, REGISTRY, "parts", folders) is not None
    await upgrade(url, REGISTRY, folders)
    database = PostgresDatabase(url, REGISTRY, CountingIds(), connections=2)
    await database.open()
    yield database
    await database.close()


async def load(database: PostgresDatabase, *rows: tuple[str, str, int]) -> tuple[Loaded, int]:
    """What became of the rows, and the number of statements that said so."""
    sent: list[str] = []

    async def pieces() -> AsyncIterator[bytes]:
        for number, row in enumerate(rows, start=2):
            yield written([str(number), str(new_id()), "111", None, None, *map(str, row)]).encode()

    async with database.transaction(HERE) as tx:
        with tx.connection.query_logger(lambda record: sent.append(record.query)):
            loaded = await tx.transfers.load(PARTS, pieces(), Loading(ACT, PARTS.by_name["number"], ()))
    return loaded, len(sent)


async def stored(database: PostgresDatabase) -> list[tuple[object, ...]]:
    async with database.transaction(HERE) as tx:
        return [tuple(row) for row in await tx.connection.fetch(STORED)]


async def test_rows_with_unchanged_unique_values_are_stored_together(database: PostgresDatabase) -> None:
    rows = [(f"P-{n:03}", f"Part {n}", n) for n in range(200)]
    loaded, _ = await load(database, *rows[:100])
    assert loaded == Loaded(100, 0, [])
    loaded, count = await load(database, *((number, name, stock + 1) for number, name, stock in rows))
    assert loaded == Loaded(200, 0, [])
    assert count < 40
    assert await stored(database) == [
        (number, name, stock + 1, 2 if stock < 100 else 1) for number, name, stock in rows
    ]


async def test_a_row_with_a_changed_unique_value_sees_the_changes_of_earlier_rows(
    database: PostgresDatabase,
) -> None:
    await load(database, ("P-1", "Bolt", 1), ("P-2", "Nut", 2), ("P-3", "Rod", 3))
    loaded, _ = await load(
        database,
        ("P-1", "BOLT", 10),  # its own name, in capitals
        ("P-2", "rod", 20),  # the name is still that of P-3
        ("P-3", "Pin", 30),
        ("P-4", "Rod", 40),  # the name is free by now
        ("P-5", "Bolt", 50),  # the name is that of P-1
        ("P-6", "Nut", 60),  # P-2 was skipped, and keeps its name
    )
    assert loaded == Loaded(3, 3, [], 0, (3, 6, 7))
    assert await stored(database) == [
        ("P-1", "BOLT", 10, 2),
        ("P-2", "Nut", 2, 1),
        ("P-3", "Pin", 30, 2),
        ("P-4", "Rod", 40, 1),
    ]


WRITE = Write(caller=ADA, scope=HERE_OF_UNKNOWN_MEMBERS)


@pytest.fixture
def desk(library: WholeDatabase, library_registry: Registry) -> Desk:
    return Desk(library, library_registry)


async def store(desk: Desk, title: str, condition: str) -> UUID:
    """Stores a volume whose condition was a member of the enum when it was written."""
    row = NewRow(new_id(), desk.values("volumes", title=title, condition=condition))
    async with desk.writing.database.transaction(HERE_OF_UNKNOWN_MEMBERS) as tx:
        await tx.records.add(desk.registry["volumes"], [row], Act(ADA.user_id, NOW))
    return row.id


async def page(desk: Desk, asked: str, scope: OneTenant = HERE_OF_UNKNOWN_MEMBERS) -> RowPage:
    query = read_query(desk.registry["volumes"], desk.registry, frozenset(), parse_qsl(asked))
    return await desk.crud.page(scope, desk.registry["volumes"], query)


def titles(found: RowPage) -> list[str]:
    return [row["title"] for row in msgspec.json.decode(found.items)]


@pytest.mark.promise(
    "migrations, renames: a row with such a value is read, found, listed in the order of the enum, and read by rules "
    "and by code of a project"
)
async def test_a_row_with_an_unknown_member_is_read_and_found(desk: Desk) -> None:
    row_id = await store(desk, "Torn", "torn")
    await desk.create("volumes", title="Worn", condition=Condition.WORN)
    stored = await desk.crud.get(HERE_OF_UNKNOWN_MEMBERS, desk.registry["volumes"], row_id, View())
    assert msgspec.json.decode(stored.body)["condition"] == "torn"
    assert titles(await page(desk, "condition.eq=torn")) == ["Torn"]
    assert titles(await page(desk, "condition.in=torn,worn&sort=title")) == ["Torn", "Worn"]
    assert titles(await page(desk, "condition.ne=torn")) == ["Worn"]
    assert titles(await page(desk, "condition.eq=torn", THERE)) == []


@pytest.mark.promise(
    "migrations, renames: a row with such a value is read, found, listed in the order of the enum, and read by rules "
    "and by code of a project"
)
async def test_pages_in_the_order_of_the_enum_go_on_behind_an_unknown_member(desk: Desk) -> None:
    await store(desk, "Torn", "torn")
    await desk.create("volumes", title="Worn", condition=Condition.WORN)
    model = desk.registry["volumes"]
    query = read_query(model, desk.registry, frozenset(), parse_qsl("sort=condition&pageSize=1"))
    first = await desk.crud.page(HERE_OF_UNKNOWN_MEMBERS, model, query)
    assert titles(first) == ["Torn"]
    assert first.last is not None
    cursor = write_cursor(query.sort, first.last)
    assert read_cursor(desk.registry, model, query.sort, cursor)[0] == "torn"
    assert titles(await page(desk, f"sort=condition&pageSize=1&cursor={cursor}")) == ["Worn"]


@pytest.mark.promise(
    "migrations, renames: Another field of such a row is changed, by itself and in a batch; the value is mended; it "
    "may be sent back where it may not be written"
)
async def test_another_field_of_a_row_with_an_unknown_member_is_changed(desk: Desk) -> None:
    row_id, other = await store(desk, "Torn", "torn"), await store(desk, "Burnt", "burnt")
    changed = await desk.crud.update(WRITE, desk.registry["volumes"], Change(row_id, {"title": "Old"}))
    assert msgspec.json.decode(changed.body)["condition"] == "torn"
    several = [Change(row_id, {"title": "A"}), Change(other, {"title": "B"})]
    await desk.batches.update(WRITE, desk.registry["volumes"], several)
    assert titles(await page(desk, "condition.in=torn,burnt&sort=title")) == ["A", "B"]


@pytest.mark.promise(
    "migrations, renames: Another field of such a row is changed, by itself and in a batch; the value is mended; it "
    "may be sent back where it may not be written"
)
async def test_an_unknown_member_is_mended(desk: Desk) -> None:
    row_id = await store(desk, "Torn", "torn")
    change = Change(row_id, {"condition": Condition.WORN})
    with pytest.raises(NotFound):
        await desk.crud.update(Write(caller=ADA, scope=THERE), desk.registry["volumes"], change)
    changed = await desk.crud.update(WRITE, desk.registry["volumes"], change)
    assert msgspec.json.decode(changed.body)["condition"] == "worn"
    assert titles(await page(desk, "condition=worn")) == ["Torn"]


@pytest.mark.promise(
    "migrations, renames: Another field of such a row is changed, by itself and in a batch; the value is mended; it "
    "may be sent back where it may not be written"
)
async def test_a_closed_field_with_an_unknown_member_is_sent_back_as_it_was_read(desk: Desk) -> None:
    row_id, model = await store(desk, "Torn", "torn"), desk.registry["volumes"]
    closed = FieldAccess(closed=frozenset({"condition", "cost"}))
    read = msgspec.json.decode((await desk.crud.get(HERE_OF_UNKNOWN_MEMBERS, model, row_id, View())).body)
    sent = read_changes_from(model, {**read, "title": "Old"}, closed)
    changed = await desk.crud.update(WRITE, model, change_of(row_id, sent.values, None, sent.kept))
    assert (changed.version, msgspec.json.decode(changed.body)["title"]) == (2, "Old")
    for condition in ("burnt", "worn", None):
        other = read_changes_from(model, {"condition": condition, "cost": "0.00"}, closed)
        with pytest.raises(Forbidden) as error:
            await desk.crud.update(WRITE, model, change_of(row_id, other.values, None, other.kept))
        assert [wrong.field for wrong in error.value.fields] == ["condition"]
    with pytest.raises(Forbidden):
        read_changes_from(model, {"condition": 7}, closed)


@pytest.mark.promise(
    "migrations, renames: a row with such a value is read, found, listed in the order of the enum, and read by rules "
    "and by code of a project"
)
async def test_a_rule_reads_rows_with_an_unknown_member(desk: Desk) -> None:
    row_id = await store(desk, "Torn", "torn")
    await desk.create("volumes", title="Worn", condition=Condition.WORN)
    async with desk.writing.database.transaction(HERE_OF_UNKNOWN_MEMBERS) as tx:
        rows = TransactionRows(tx.records, desk.registry)
        found, single = await rows.all(Volume), await rows.get(Volume, row_id)
    assert [(row.title, row.condition) for row in found] == [("Torn", "torn"), ("Worn", Condition.WORN)]
    assert single == found[0]


@pytest.mark.promise(
    "migrations, renames: a row with such a value is read, found, listed in the order of the enum, and read by rules "
    "and by code of a project"
)
async def test_code_of_a_project_reads_a_row_with_an_unknown_member(desk: Desk) -> None:
    row_id = await store(desk, "Torn", "torn")
    stored = await desk.crud.get(HERE_OF_UNKNOWN_MEMBERS, desk.registry["volumes"], row_id, View())
    made = made_of_json(desk.registry["volumes"], stored.body)
    assert isinstance(made, Volume)
    condition: object = made.condition
    assert (made.title, condition, made.cost) == ("Torn", "torn", Decimal("0.00"))
