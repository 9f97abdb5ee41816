"""Every kind of write leaves exactly its entries in the log, in the order of the versions."""

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from adapters.memory.clock import MovableClock
from application.entities.checks.conditional_changes import change_of
from application.entities.guarded_fields import GuardedFields
from application.entities.transactions.operations import Operations
from application.entities.transactions.upserts import Upserts, read_upsert
from application.ports.entities.files import Loading
from application.ports.entities.records import Act, Change
from domain.entities.files.csv_rows import written
from domain.entities.query.query import WHOLE
from domain.errors import NotFound, PreconditionFailed, UnprocessableEntity
from domain.scope import EveryTenant
from tests.builders import NOW, new_id, tenant, user
from tests.contracts.entities.changes.conftest import Desk, Ids, data_of, was_of
from tests.contracts.entities.changes.followed_entities import REGISTRY
from tests.contracts.entities.transactions.counter import allow, change, create, delete

LARGE = "x" * 70_000


async def shown(desk: Desk, plural: str, row_id: Any) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.json.decode((await desk.crud.get(desk.tenant, REGISTRY[plural], row_id, WHOLE)).body)
    return body


async def test_an_entry_has_the_row_as_it_is_read_and_the_former_values(desk: Desk) -> None:
    card = await desk.add("cards", title='a "b"', price=None, secret="s")
    (created,) = await desk.entries()
    assert (created.action, created.version, created.row_id, created.by) == ("created", 1, card, desk.user)
    assert (created.at, created.was, created.subject) == (NOW, None, None)
    assert data_of(created) == await shown(desk, "cards", card)
    await desk.change("cards", card, title="c", secret="s", price="1.50")
    (changed,) = await desk.entries()
    assert (changed.action, changed.version, was_of(changed)) == ("changed", 2, {"title": 'a "b"', "price": None})
    assert data_of(changed) == await shown(desk, "cards", card)


async def test_bulk_writes_leave_an_entry_for_each_row_that_changes(desk: Desk) -> None:
    first, second = await desk.add_all("cards", {"title": "a"}, {"title": "b"})
    assert await desk.lines() == [("cards", "created", 1)] * 2
    changes = [Change(first, {"title": "c"}), Change(second, {})]
    await desk.writer.change(desk.write, REGISTRY["cards"], changes)
    (entry,) = await desk.entries()
    assert (entry.row_id, entry.action, was_of(entry)) == (first, "changed", {"title": "a"})


async def test_links_are_in_the_row_and_in_the_former_values(desk: Desk) -> None:
    red, blue = await desk.add("labels"), await desk.add("labels")
    card = await desk.add("cards", label_ids=[red])
    await desk.change("cards", card, label_ids=[blue, red])
    await desk.change("cards", card, title="t")
    *_, created, relinked, renamed = await desk.entries()
    assert data_of(created)["labelIds"] == [str(red)]
    assert (data_of(relinked)["labelIds"], was_of(relinked)) == ([str(blue), str(red)], {"labelIds": [str(red)]})
    assert data_of(renamed)["labelIds"] == [str(blue), str(red)]


async def test_a_deletion_logs_its_cascades_and_a_restoration_too(desk: Desk) -> None:
    board = await desk.add("boards")
    card = await desk.add("cards", board_id=board)
    await desk.add("steps", card_id=card)
    await desk.lines()
    await desk.remove("boards", board)
    assert sorted(await desk.lines()) == [("boards", "deleted", 2), ("cards", "deleted", 2), ("steps", "purged", 2)]
    await desk.restore("boards", board)
    assert sorted(await desk.lines()) == [("boards", "restored", 3), ("cards", "restored", 3)]
    await desk.purge("boards", board)
    assert sorted(await desk.lines()) == [("boards", "purged", 4), ("cards", "purged", 4)]


async def test_a_deleted_row_is_in_its_entry(desk: Desk) -> None:
    label = await desk.add("labels")
    card = await desk.add("cards", title="gone", label_ids=[label])
    await desk.remove("cards", card)
    *_, entry = await desk.entries()
    assert (entry.action, entry.was) == ("deleted", None)
    assert (data_of(entry)["title"], data_of(entry)["labelIds"]) == ("gone", [str(label)])
    await desk.purge("cards", card)
    (entry,) = await desk.entries()
    assert (entry.action, entry.version, data_of(entry)["labelIds"]) == ("purged", 3, [str(label)])


async def test_a_cleared_reference_is_a_change(desk: Desk) -> None:
    await desk.shared_entries()
    colour = await desk.add("colours")
    card = await desk.add("cards", colour_id=colour)
    await desk.lines()
    await desk.purge("colours", colour)
    (cleared,) = await desk.entries()
    assert (cleared.row_id, cleared.version, was_of(cleared)) == (card, 2, {"colourId": str(colour)})
    of_colour = [entry for entry in await desk.shared_entries() if entry.row_id == colour]
    assert [entry.action for entry in of_colour] == ["created", "purged"]


async def test_operations_and_upserts_are_logged_in_their_order(desk: Desk) -> None:
    use_case = Operations(desk.database, REGISTRY, MovableClock(NOW), Ids())
    ticket, card = await desk.add("tickets"), await desk.add("cards")
    await desk.lines()
    sent = [create("boards", name="b"), change("tickets", ticket, title="t"), delete("cards", card)]
    await use_case.apply(desk.write, use_case.read(desk.write.caller, {"operations": sent}, allow))
    assert await desk.lines() == [("boards", "created", 1), ("tickets", "changed", 2), ("cards", "deleted", 2)]
    items = [{"code": "a", "title": "new"}, {"code": "b", "title": "new too"}]
    for _ in range(2):
        model = REGISTRY["cards"]
        read = read_upsert(GuardedFields(model, REGISTRY), desk.write.caller, {"key": "code", "items": items})
        await Upserts(desk.database, REGISTRY, MovableClock(NOW), Ids()).upsert(desk.write, model, read)
        items = [{"code": "a", "title": "changed"}, {"code": "c", "title": "new"}]
    lines = [("cards", "changed", 2), ("cards", "created", 1), ("cards", "created", 1), ("cards", "created", 1)]
    assert sorted(await desk.lines()) == lines


async def test_an_import_logs_each_stored_row(desk: Desk) -> None:
    label, model = await desk.add("labels"), REGISTRY["cards"]
    await desk.lines()

    def line(number: int, title: str, linked: str, *, is_upsert: bool) -> str:
        values = {"title": title, "code": f"c{number}", "secret": "", "label_ids": linked}
        flags = "".join("1" if name in ("title", "code", "label_ids") else "0" for name in model.names)
        upserted = [flags, None, None] if is_upsert else []
        return written([str(number), str(new_id()), *upserted, *(values.get(name) for name in model.names)])

    async def load(*lines: str, key: str | None) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            yield "".join(lines).encode()

        async with desk.database.transaction(desk.tenant) as tx:
            by = None if key is None else model.by_name[key]
            loaded = await tx.transfers.load(model, pieces(), Loading(Act(None, NOW), by))
        assert (loaded.imported, loaded.failed) == (len(lines), 0)

    await load(*(line(n, f"t{n}", f'["{label}"]', is_upsert=False) for n in (1, 2)), key=None)
    first, second = await desk.entries()
    assert (first.by, data_of(first)["labelIds"], data_of(second)["title"]) == (None, [str(label)], "t2")
    await load(line(1, "changed", "[]", is_upsert=True), line(3, "new", "[]", is_upsert=True), key="code")
    by_action = {entry.action: entry for entry in await desk.entries()}
    assert was_of(by_action["changed"]) == {"title": "t1", "labelIds": [str(label)]}
    assert data_of(by_action["changed"])["labelIds"] == []
    assert (data_of(by_action["created"])["title"], len(by_action)) == ("new", 2)


async def test_swapped_unique_values_are_one_change_of_each_row(desk: Desk) -> None:
    first, second = await desk.add_all("cards", {"code": "a"}, {"code": "b"})
    await desk.lines()
    changes = [Change(first, {"code": "b"}), Change(second, {"code": "a"})]
    await desk.writer.change(desk.write, REGISTRY["cards"], changes)
    found = {entry.row_id: was_of(entry) for entry in await desk.entries()}
    assert found == {first: {"code": "a"}, second: {"code": "b"}}


@pytest.mark.promise("entities, changes: Every write has its entries, and a rolled-back write has none")
async def test_a_write_that_fails_leaves_no_entry(desk: Desk) -> None:
    ticket = await desk.add("tickets")
    await desk.lines()
    with pytest.raises(UnprocessableEntity):
        await desk.change("tickets", ticket, title="refused")
    with pytest.raises(UnprocessableEntity):
        await desk.add("tickets", title="refused")
    with pytest.raises(NotFound):
        await desk.crud.update(desk.write, REGISTRY["cards"], change_of(new_id(), {"title": "t"}, None, {}))
    with suppress(RuntimeError):
        async with desk.database.transaction(desk.tenant) as tx:
            await tx.records.change(REGISTRY["tickets"], [Change(ticket, {"title": "t"})], Act(None, NOW))
            raise RuntimeError
    assert await desk.lines() == []


async def test_a_refused_deletion_within_a_transaction_leaves_no_entry(desk: Desk) -> None:
    label = await desk.add("labels")
    await desk.lines()
    async with desk.database.transaction(desk.tenant) as tx:
        with pytest.raises(PreconditionFailed):
            await tx.records.remove(REGISTRY["labels"], [label], Act(None, NOW), frozenset({7}))
    assert await desk.lines() == []


async def test_an_entry_above_64_kib_has_neither_row_nor_former_values(desk: Desk) -> None:
    card = await desk.add("cards", title=LARGE)
    await desk.change("cards", card, title="small")
    large, smaller = await desk.entries()
    assert (large.data, smaller.data, smaller.was) == (None, None, None)
    await desk.change("cards", card, title="smaller")
    (entry,) = await desk.entries()
    assert was_of(entry) == {"title": "small"}


async def test_a_share_and_its_end_are_entries_for_the_user(desk: Desk) -> None:
    member, made, card = user(), tenant(), await desk.add("cards")
    desk.tenant = type(desk.tenant)(made.id)
    async with desk.database.transaction(EveryTenant()) as tx:
        await tx.tenants.add(made)
        await tx.users.add(member)
        await tx.memberships.save(member.id, made.id, [], None, NOW)
    act, model = Act(desk.user, NOW), REGISTRY["cards"]
    async with desk.database.transaction(desk.tenant) as tx:
        await tx.shares.put(model, card, member.id, "read", act)
        await tx.shares.put(model, card, member.id, "update", act)
        assert await tx.shares.remove(model, card, member.id, act)
        assert not await tx.shares.remove(model, card, member.id, act)
    desk.seen = 0
    shared, unshared = await desk.entries()
    assert [(each.action, each.subject, each.row_id, each.version) for each in (shared, unshared)] == [
        ("shared", member.id, card, 0),
        ("unshared", member.id, card, 0),
    ]


async def test_an_entity_without_a_feed_has_no_entries(desk: Desk) -> None:
    board = await desk.add("boards")
    await desk.lines()
    await desk.add("helpers", board_id=board, user_id=new_id())
    assert await desk.lines() == []
