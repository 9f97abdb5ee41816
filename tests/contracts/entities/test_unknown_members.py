"""Rows whose stored value the enum does not know any more: they are read, found and mended."""

from urllib.parse import parse_qsl
from uuid import UUID

import msgspec
import pytest

from application.entities.writing import Write
from application.ports.entities.records import Act, Change, NewRow, RowPage
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.entities.query.cursors import read_cursor, write_cursor
from domain.entities.query.query import View
from domain.entities.query.read_query import read_query
from domain.errors import NotFound
from domain.scope import OneTenant
from tests.builders import NOW, new_id
from tests.contracts.entities.test_writing import ADA, HERE, THERE, Desk
from tests.library import Condition

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


async def test_a_row_with_an_unknown_member_is_read_and_found(desk: Desk) -> None:
    row_id = await store(desk, "Torn", "torn")
    await desk.create("volumes", title="Worn", condition=Condition.WORN)
    stored = await desk.crud.get(HERE, desk.registry["volumes"], row_id, View())
    assert msgspec.json.decode(stored.body)["condition"] == "torn"
    assert titles(await page(desk, "condition.eq=torn")) == ["Torn"]
    assert titles(await page(desk, "condition.in=torn,worn&sort=title")) == ["Torn", "Worn"]
    assert titles(await page(desk, "condition.ne=torn")) == ["Worn"]
    assert titles(await page(desk, "condition.eq=torn", THERE)) == []


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


async def test_another_field_of_a_row_with_an_unknown_member_is_changed(desk: Desk) -> None:
    row_id, other = await store(desk, "Torn", "torn"), await store(desk, "Burnt", "burnt")
    changed = await desk.crud.update(WRITE, desk.registry["volumes"], Change(row_id, {"title": "Old"}))
    assert msgspec.json.decode(changed.body)["condition"] == "torn"
    several = [Change(row_id, {"title": "A"}), Change(other, {"title": "B"})]
    await desk.batches.update(WRITE, desk.registry["volumes"], several)
    assert titles(await page(desk, "condition.in=torn,burnt&sort=title")) == ["A", "B"]


async def test_an_unknown_member_is_mended(desk: Desk) -> None:
    row_id = await store(desk, "Torn", "torn")
    change = Change(row_id, {"condition": Condition.WORN})
    with pytest.raises(NotFound):
        await desk.crud.update(Write(caller=ADA, scope=THERE), desk.registry["volumes"], change)
    changed = await desk.crud.update(WRITE, desk.registry["volumes"], change)
    assert msgspec.json.decode(changed.body)["condition"] == "worn"
    assert titles(await page(desk, "condition=worn")) == ["Torn"]
