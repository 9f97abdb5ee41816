"""Links to rows that earlier operations of the same request create, and links of upserts."""

import msgspec
import pytest

from adapters.memory.clock import CountingIds, MovableClock
from application.entities.guarded_fields import GuardedFields
from application.entities.transactions.operations import Operations
from application.entities.transactions.upserts import Upserts, read_upsert
from application.ports.entities.records import Stored
from domain.errors import ValidationError
from tests.builders import NOW, new_id
from tests.contracts.entities.links.conftest import Desk, Row, body
from tests.contracts.entities.transactions.counter import Json, allow, change, create, the
from tests.linked_entities import REGISTRY

IDS = CountingIds()


async def apply(desk: Desk, *operations: Json) -> list[Row]:
    use_case = Operations(desk.database, REGISTRY, MovableClock(NOW), IDS)
    read = use_case.read(desk.write.caller, {"operations": list(operations)}, allow)
    found = (await use_case.apply(desk.write, read)).answer
    return [body(stored) for stored in found if isinstance(stored, Stored)]


async def test_links_name_earlier_creates(desk: Desk) -> None:
    known = await desk.add("tags")
    red, blue, order, changed = await apply(
        desk,
        create("tags", "red", name="red"),
        create("tags", "blue", name="blue"),
        create("orders", "o", title=f"O {known}", tagIds=[the("blue"), str(known), the("red")]),
        change("orders", the("o"), tagIds=[the("red")]),
    )
    assert order["tagIds"] == [blue["id"], str(known), red["id"]]
    assert changed["tagIds"] == [red["id"]]


async def test_a_link_that_names_no_earlier_create_is_named(desk: Desk) -> None:
    box, order = create("boxes", "b", name="b"), create("orders", title="t", tagIds=[str(new_id()), the("b"), the("x")])
    with pytest.raises(ValidationError) as raised:
        await apply(desk, box, order)
    assert [wrong.field for wrong in raised.value.fields] == ["operations[1].tagIds[1]", "operations[1].tagIds[2]"]
    inside = create("boxes", "b", name="b", boxIds=[the("b")])
    with pytest.raises(ValidationError) as raised:
        await apply(desk, inside)
    assert [wrong.field for wrong in raised.value.fields] == ["operations[0].boxIds[0]"]


async def test_an_upsert_replaces_links_that_an_item_names(desk: Desk) -> None:
    tags = [str(tag) for tag in await desk.tags(3)]
    fields, title = GuardedFields(REGISTRY["orders"], REGISTRY), f"T {tags[0]}"

    async def upsert(*items: Json) -> list[Row]:
        sent = read_upsert(fields, desk.write.caller, {"key": "title", "items": list(items)})
        use_case = Upserts(desk.database, REGISTRY, MovableClock(NOW), IDS)
        answer = (await use_case.upsert(desk.write, REGISTRY["orders"], sent)).answer
        return [msgspec.json.decode(stored.body) for stored in answer.items]

    await upsert({"title": title, "tagIds": tags[:2]})
    first, second = await upsert({"title": title}, {"title": f"{title}!", "tagIds": tags[1:]})
    assert (first["tagIds"], second["tagIds"]) == (tags[:2], tags[1:])
    assert [row["tagIds"] for row in await upsert({"title": title, "tagIds": []})] == [[]]
