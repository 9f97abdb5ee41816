"""Links of a row through its body: replaced in order, shown while their targets are live."""

import pytest

from application.ports.entities.records import Change
from domain.errors import Conflict, NotFound, PreconditionFailed, UnprocessableEntity, ValidationError
from tests.builders import new_id
from tests.contracts.entities.links.conftest import EVERY, Desk, body, wire
from tests.linked_entities import REGISTRY


def fields_of(error: pytest.ExceptionInfo[ValidationError]) -> list[tuple[str, str]]:
    return [(wrong.field, wrong.message) for wrong in error.value.fields]


async def test_a_new_row_answers_with_its_links_in_order(desk: Desk) -> None:
    red, blue, green = await desk.tags(3)
    stored = await desk.added("orders", tag_ids=[green, red, blue])
    assert body(stored)["tagIds"] == wire([green, red, blue])
    assert (await desk.get("orders", stored.id))["tagIds"] == wire([green, red, blue])
    (row,) = await desk.page("orders")
    assert row["tagIds"] == wire([green, red, blue])


@pytest.mark.parametrize("plural", ["orders", "bundles", "boxes"])
async def test_a_row_without_links_answers_with_an_empty_list(desk: Desk, plural: str) -> None:
    stored = await desk.added(plural)
    name = "boxIds" if plural == "boxes" else "tagIds"
    assert body(stored)[name] == [] == (await desk.get(plural, stored.id))[name]


@pytest.mark.parametrize("plural", ["orders", "bundles"])
async def test_a_change_replaces_the_set_and_keeps_its_order(desk: Desk, plural: str) -> None:
    red, blue, green = await desk.tags(3)
    row_id = await desk.add(plural, tag_ids=[red, blue])
    changed = await desk.change(plural, row_id, tag_ids=[green, red])
    assert changed["tagIds"] == wire([green, red])
    assert changed["version"] == 2
    assert (await desk.get(plural, row_id))["tagIds"] == wire([green, red])
    assert (await desk.change(plural, row_id, tag_ids=[]))["tagIds"] == []
    assert (await desk.get(plural, row_id))["tagIds"] == []


@pytest.mark.parametrize("plural", ["orders", "bundles"])
async def test_a_change_without_links_leaves_them(desk: Desk, plural: str) -> None:
    tags = await desk.tags(2)
    row_id = await desk.add(plural, tag_ids=tags)
    name = "title" if plural == "orders" else "name"
    changed = await desk.change(plural, row_id, **{name: f"new {row_id}"})
    assert changed["tagIds"] == wire(tags)
    assert changed["version"] == 2


async def test_a_batch_changes_the_links_of_some_rows(desk: Desk) -> None:
    red, blue = await desk.tags(2)
    first, second = await desk.add("orders", tag_ids=[red]), await desk.add("orders", tag_ids=[red])
    async with desk.database.transaction(desk.tenant) as tx:
        from application.ports.entities.records import Act, Change
        from tests.builders import NOW
        from tests.linked_entities import REGISTRY

        changes = [Change(first, {"tag_ids": [blue]}), Change(second, {"title": "second"})]
        rows = await tx.records.change(REGISTRY["orders"], changes, Act(None, NOW))
    assert [body(row)["tagIds"] for row in rows] == [wire([blue]), wire([red])]


async def test_a_link_to_nothing_names_its_place(desk: Desk) -> None:
    (red,) = await desk.tags(1)
    other = Desk(desk.database)
    (foreign,) = await other.tags(1)
    (gone,) = await desk.tags(1)
    await desk.remove("tags", gone)
    for wrong in (new_id(), foreign, gone):
        with pytest.raises(ValidationError) as error:
            await desk.add("orders", tag_ids=[red, wrong])
        assert fields_of(error) == [("tagIds[1]", "refers to nothing that exists")]
        row_id = await desk.add("bundles", tag_ids=[red])
        with pytest.raises(ValidationError) as error:
            await desk.change("bundles", row_id, tag_ids=[wrong])
        assert fields_of(error) == [("tagIds[0]", "refers to nothing that exists")]
        assert (await desk.get("bundles", row_id))["tagIds"] == wire([red])


async def test_a_deleted_target_disappears_and_returns_when_it_is_restored(desk: Desk) -> None:
    red, blue, green = await desk.tags(3)
    row_id = await desk.add("orders", tag_ids=[red, blue, green])
    await desk.remove("tags", blue)
    row = await desk.get("orders", row_id)
    assert (row["tagIds"], row["version"]) == (wire([red, green]), 1)
    await desk.restore("tags", blue)
    assert (await desk.get("orders", row_id))["tagIds"] == wire([red, blue, green])


async def test_links_to_deleted_targets_survive_a_replacement_and_may_be_sent_back(desk: Desk) -> None:
    red, blue, green = await desk.tags(3)
    row_id = await desk.add("orders", tag_ids=[red, blue])
    await desk.remove("tags", blue)
    assert (await desk.change("orders", row_id, tag_ids=[green]))["tagIds"] == wire([green])
    assert (await desk.change("orders", row_id, tag_ids=[green, blue]))["tagIds"] == wire([green])
    await desk.restore("tags", blue)
    assert (await desk.get("orders", row_id))["tagIds"] == wire([green, blue])


async def test_a_purged_target_ends_its_links(desk: Desk) -> None:
    red, blue = await desk.tags(2)
    row_id = await desk.add("orders", tag_ids=[red, blue])
    await desk.purge("tags", red)
    row = await desk.get("orders", row_id)
    assert (row["tagIds"], row["version"]) == (wire([blue]), 1)
    await desk.purge("orders", row_id)
    assert await desk.page("tags", id=str(blue), include="orders") == [
        {**await desk.get("tags", blue), "orders": [], "ordersHasMore": False}
    ]


async def test_a_restricting_link_refuses_the_deletion_of_its_target(desk: Desk) -> None:
    box = await desk.add("boxes")
    row_id = await desk.add("orders", box_ids=[box])
    for delete in (desk.remove, desk.purge):
        with pytest.raises(Conflict) as error:
            await delete("boxes", box)
        assert error.value.message == "Rows still refer to it: orders (1)."
    await desk.remove("orders", row_id)
    with pytest.raises(Conflict):
        await desk.purge("boxes", box)
    await desk.remove("boxes", box)
    await desk.purge("orders", row_id)
    await desk.purge("boxes", box)


async def test_links_lead_to_shared_rows(desk: Desk) -> None:
    here, there = await desk.add("countries"), await desk.add("countries")
    row_id = await desk.add("orders", country_ids=[there, here])
    assert (await desk.get("orders", row_id))["countryIds"] == wire([there, here])
    assert [row["countryIds"] for row in await desk.page("orders", EVERY, id=str(row_id))] == [wire([there, here])]
    await desk.purge("countries", there)
    assert (await desk.get("orders", row_id))["countryIds"] == wire([here])


async def test_links_lead_to_rows_of_the_same_kind(desk: Desk) -> None:
    inner = await desk.add("boxes")
    outer = await desk.add("boxes", box_ids=[inner])
    await desk.change("boxes", outer, box_ids=[outer, inner])
    row = await desk.get("boxes", outer, include="contents,inside")
    assert [each["id"] for each in row["contents"]] == wire([outer, inner])
    assert [each["id"] for each in row["inside"]] == wire([outer])


async def test_every_tenant_sees_the_links_of_each_row(desk: Desk) -> None:
    red, blue = await desk.tags(2)
    row_id = await desk.add("orders", tag_ids=[blue, red])
    (row,) = await desk.page("orders", EVERY, id=str(row_id), include="tags")
    assert row["tagIds"] == wire([blue, red]) == [tag["id"] for tag in row["tags"]]


async def test_a_rule_reads_the_links(desk: Desk) -> None:
    tags = await desk.tags(3)
    with pytest.raises(UnprocessableEntity):
        await desk.add("bundles", tag_ids=tags)
    row_id = await desk.add("bundles", tag_ids=tags[:2])
    with pytest.raises(UnprocessableEntity):
        await desk.change("bundles", row_id, tag_ids=tags)
    assert (await desk.change("bundles", row_id, name="renamed"))["tagIds"] == wire(tags[:2])


async def test_each_change_of_links_has_a_version_and_an_entry(desk: Desk) -> None:
    red, blue = await desk.tags(2)
    row_id = await desk.add("orders", tag_ids=[red])
    await desk.change("orders", row_id, version=1, tag_ids=[blue, red])
    with pytest.raises(PreconditionFailed):
        await desk.change("orders", row_id, version=1, tag_ids=[])
    changed, created = await desk.history("orders", row_id)
    assert (changed.version, changed.action) == (2, "changed")
    (change,) = changed.changes
    assert (change.field, bytes(change.was), bytes(change.to)) == (
        "tagIds",
        f'["{red}"]'.encode(),
        f'["{blue}","{red}"]'.encode(),
    )
    assert f'["{red}"]'.encode() in [bytes(each.to) for each in created.changes if each.field == "tagIds"]
    await desk.change("orders", row_id, title=f"renamed {row_id}")
    newest, *_ = await desk.history("orders", row_id)
    assert [each.field for each in newest.changes] == ["title"]


async def test_a_missing_row_is_not_found(desk: Desk) -> None:
    (red,) = await desk.tags(1)
    with pytest.raises(NotFound):
        await desk.change("orders", new_id(), tag_ids=[red])


async def test_rows_that_swap_unique_values_keep_their_links(desk: Desk) -> None:
    red, blue, green = await desk.tags(3)
    first = await desk.add("notes", is_first=True, tag_ids=[red, blue])
    second = await desk.add("notes", is_first=False, tag_ids=[blue])
    await desk.remove("tags", blue)
    changes = [Change(first, {"is_first": False}), Change(second, {"is_first": True, "tag_ids": [green]})]
    rows = await desk.writer.change(desk.write, REGISTRY["notes"], changes)
    assert [body(row)["tagIds"] for row in rows] == [wire([red]), wire([green])]
    await desk.restore("tags", blue)
    assert (await desk.get("notes", first))["tagIds"] == wire([red, blue])
    assert (await desk.get("notes", second))["tagIds"] == wire(sorted([blue, green]))


async def test_hard_deleted_rows_and_targets_take_their_links_along(desk: Desk) -> None:
    (tag,) = await desk.tags(1)
    row_id = await desk.add("notes", is_first=True, tag_ids=[tag])
    await desk.remove("notes", row_id)
    await desk.purge("tags", tag)
    assert await desk.page("notes") == []


async def test_a_restored_row_answers_with_its_links(desk: Desk) -> None:
    tags = await desk.tags(2)
    row_id = await desk.add("orders", tag_ids=tags)
    await desk.remove("orders", row_id)
    assert (await desk.restore("orders", row_id))["tagIds"] == wire(tags)
