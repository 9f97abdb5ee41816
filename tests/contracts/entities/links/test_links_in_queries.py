"""Filters, includes and inverse relations through links."""

import pytest

from domain.entities.query.read_query import read_query
from domain.errors import ValidationError
from tests.contracts.entities.links.conftest import EVERY, Desk, wire
from tests.linked_entities import REGISTRY


async def test_filters_find_rows_by_the_ids_of_their_links(desk: Desk) -> None:
    red, blue, gone = await desk.tags(3)
    both = await desk.add("orders", tag_ids=[red, blue])
    first = await desk.add("orders", tag_ids=[red, gone])
    none, lost = await desk.add("orders"), await desk.add("orders", tag_ids=[gone])
    await desk.remove("tags", gone)
    assert await desk.found("orders", tagIds=str(red)) == {both, first}
    assert await desk.found("orders", tagIds=f"{red},{blue}") == {both, first}
    assert await desk.found("orders", **{"tagIds.in": f"{gone},{blue}"}) == {both}
    assert await desk.found("orders", **{"tagIds.all": f"{red},{blue}"}) == {both}
    assert await desk.found("orders", **{"tagIds.all": f"{red},{gone}"}) == set()
    assert await desk.found("orders", **{"tagIds.isNull": "true"}) == {none, lost}
    assert await desk.found("orders", **{"tagIds.isNull": "false"}) == {both, first}


async def test_filters_find_rows_by_the_values_of_their_targets_once(desk: Desk) -> None:
    red, blue = await desk.add("tags", name="red"), await desk.add("tags", name="reddish blue")
    both, first = await desk.add("orders", tag_ids=[red, blue]), await desk.add("orders", tag_ids=[red])
    await desk.add("orders")
    assert await desk.found("orders", **{"tags.name": "red"}) == {both, first}
    # The page's total is that of its rows: two links to matching tags count one order.
    assert await desk.found("orders", **{"tags.name.contains": "red"}) == {both, first}
    assert await desk.found("orders", **{"tags.name": "red", "tags.name.contains": "blue"}) == set()
    assert await desk.found("tags", **{"orders.title.startsWith": "title"}) == {red, blue}
    await desk.remove("tags", red)
    assert await desk.found("orders", **{"tags.name": "red"}) == set()


async def test_rows_of_other_tenants_are_not_found_through_links(desk: Desk) -> None:
    (tag,) = await desk.tags(1)
    await desk.add("orders", tag_ids=[tag])
    other = Desk(desk.database)
    assert await other.found("orders", tagIds=str(tag)) == set()
    assert await other.found("tags", **{"orders.title.startsWith": "title"}) == set()


async def test_an_include_shows_the_rows_in_order(desk: Desk) -> None:
    red, blue, green = await desk.tags(3)
    row_id = await desk.add("orders", tag_ids=[blue, green, red])
    await desk.remove("tags", green)
    row = await desk.get("orders", row_id, include="tags.orders")
    assert ([tag["id"] for tag in row["tags"]], row["tagsHasMore"]) == (wire([blue, red]), False)
    assert [[order["id"] for order in tag["orders"]] for tag in row["tags"]] == [[str(row_id)]] * 2
    assert row["tags"][0]["orders"][0]["tagIds"] == wire([blue, red])


async def test_the_inverse_relation_has_the_default_order_and_a_limit(desk: Desk) -> None:
    (tag,) = await desk.tags(1)
    orders = [await desk.add("orders", tag_ids=[tag]) for _ in range(3)]
    await desk.remove("orders", orders[1])
    (row,) = await desk.page("tags", EVERY, id=str(tag), include="orders")
    assert sorted(order["id"] for order in row["orders"]) == sorted(wire([orders[0], orders[2]]))
    assert row["ordersHasMore"] is False


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("tagIds", "red", "an id"),
        ("tagIds.eq", "red", "has no operator"),
        ("tagIds.all", "", "an id"),
        ("sort", "tagIds", "cannot be sorted by"),
        ("tags", "x", "name a property"),
    ],
)
def test_wrong_filters_are_refused(name: str, text: str, wrong: str) -> None:
    with pytest.raises(ValidationError) as error:
        read_query(REGISTRY["orders"], REGISTRY, frozenset(), [(name, text)])
    assert wrong in error.value.fields[0].message
