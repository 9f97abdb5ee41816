"""Rows whose stored value the enum does not know any more: they are read, found and mended."""

from decimal import Decimal
from urllib.parse import parse_qsl
from uuid import UUID

import msgspec
import pytest

from application.entities.conditional_changes import change_of
from application.entities.writing import TransactionRows, Write
from application.ports.entities.records import Act, Change, NewRow, RowPage
from application.ports.whole_database import WholeDatabase
from domain.entities.bodies import FieldAccess, read_changes_from
from domain.entities.declaration import Registry
from domain.entities.exact_values import made_of_json
from domain.entities.query.cursors import read_cursor, write_cursor
from domain.entities.query.query import View
from domain.entities.query.read_query import read_query
from domain.errors import Forbidden, NotFound
from domain.scope import OneTenant
from tests.builders import NOW, new_id
from tests.contracts.entities.test_writing import ADA, HERE, THERE, Desk
from tests.library import Condition, Volume

WRITE = Write(caller=ADA, scope=HERE)


@pytest.fixture
def desk(library: WholeDatabase, library_registry: Registry) -> Desk:
    return Desk(library, library_registry)


async def store(desk: Desk, title: str, condition: str) -> UUID:
    """Stores a volume whose condition was a member of the enum when it was written."""
    row = NewRow(new_id(), desk.values("volumes", title=title, condition=condition))
    async with desk.writing.database.transaction(HERE) as tx:
        await tx.records.add(desk.registry["volumes"], [row], Act(ADA.user_id, NOW))
    return row.id


async def page(desk: Desk, asked: str, scope: OneTenant = HERE) -> RowPage:
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
    stored = await desk.crud.get(HERE, desk.registry["volumes"], row_id, View())
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
    first = await desk.crud.page(HERE, model, query)
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
    read = msgspec.json.decode((await desk.crud.get(HERE, model, row_id, View())).body)
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
    async with desk.writing.database.transaction(HERE) as tx:
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
    stored = await desk.crud.get(HERE, desk.registry["volumes"], row_id, View())
    made = made_of_json(desk.registry["volumes"], stored.body)
    assert isinstance(made, Volume)
    condition: object = made.condition
    assert (made.title, condition, made.cost) == ("Torn", "torn", Decimal("0.00"))
