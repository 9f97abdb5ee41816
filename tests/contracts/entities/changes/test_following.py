"""What a reader of the feed sees: filters, own rows by each rule, shares, hidden fields and hidden links."""

import pytest

from adapters.memory.wakes import MemoryWakes
from application.entities.changes.arrivals import Arrivals
from application.entities.changes.following import MOST_EXAMINED, Following
from application.ports.entities.records import Act
from domain.entities.changes.asking import Asked
from domain.entities.changes.cursors import FeedCursor, read_feed_cursor, write_feed_cursor
from domain.errors import BadRequest, CursorExpired, Unauthorized
from domain.scope import Caller, EveryTenant, OneTenant
from tests.builders import NOW, new_id, tenant, user
from tests.contracts.entities.changes.conftest import Desk
from tests.contracts.entities.changes.followed_entities import REGISTRY
from tests.contracts.entities.changes.readers import reader

CARDS = REGISTRY["cards"]


async def test_a_reader_without_limits_sees_each_change_in_order(desk: Desk) -> None:
    everything = await reader(desk)
    board, card = await desk.add("boards"), await desk.add("cards")
    await desk.change("cards", card, title="t")
    await desk.remove("boards", board)
    assert await everything.seen() == [("created", board), ("created", card), ("changed", card), ("deleted", board)]
    assert await everything.seen() == []


async def test_pages_partition_the_changes(desk: Desk) -> None:
    everything = await reader(desk)
    cards = await desk.add_all("cards", *({"title": f"{number}"} for number in range(7)))
    found = []
    for more in (True, True, False):
        page = await everything.page(limit=3)
        assert page.has_more is more
        found += [event.entry.row_id for event in page.events]
    assert found == cards


async def test_a_page_examines_5_000_positions_of_both_streams(desk: Desk) -> None:
    everything = await reader(desk)
    everything.interests = {"colours": everything.interests["colours"]}
    await desk.add_all("labels", *({"name": f"{number}"} for number in range(MOST_EXAMINED + 1)))
    colour = await desk.add("colours")
    pages = [await everything.page() for _ in range(2)]
    assert [(page.has_more, [event.entry.row_id for event in page.events]) for page in pages] == [
        (True, []),
        (False, [colour]),
    ]


async def test_filters_make_rows_enter_and_leave(desk: Desk) -> None:
    dear = await reader(desk, minPrice="10")
    card, other = await desk.add("cards", price="5"), await desk.add("cards", price="1")
    await desk.change("cards", card, price="15")
    await desk.change("cards", card, title="t")
    await desk.change("cards", card, price="2")
    await desk.remove("cards", other)
    assert await dear.seen() == [("entered", card), ("changed", card), ("left", card)]


async def test_filters_compare_as_lists_do(desk: Desk) -> None:
    label = await desk.add("labels")
    labelled, early = await reader(desk, labelIds=str(label)), await reader(desk, createdBefore="2000-01-01")
    card = await desk.add("cards", label_ids=[label])
    await desk.add("cards", code=None)
    assert (await labelled.seen(), await early.seen()) == ([("created", card)], [])


@pytest.mark.promise("entities, changes: Another user's feed has not one byte of a row, for each rule of own rows")
async def test_a_reader_limited_to_own_rows_sees_them_by_a_field(desk: Desk) -> None:
    ann, bob = new_id(), new_id()
    of_ann, of_bob = await reader(desk, own=ann), await reader(desk, own=bob)
    card = await desk.add("cards", owner_id=ann)
    await desk.change("cards", card, title="secret of ann")
    assert (await of_ann.seen(), await of_bob.seen()) == ([("created", card), ("changed", card)], [])
    await desk.change("cards", card, owner_id=bob)
    assert (await of_ann.seen(), await of_bob.seen()) == ([("left", card)], [("entered", card)])
    await desk.remove("cards", card)
    await desk.restore("cards", card)
    assert (await of_ann.seen(), await of_bob.seen()) == ([], [("deleted", card), ("restored", card)])


@pytest.mark.promise("entities, changes: Another user's feed has not one byte of a row, for each rule of own rows")
async def test_a_reader_limited_to_own_rows_sees_them_through_other_rows(desk: Desk) -> None:
    ann, board, other = new_id(), await desk.add("boards"), await desk.add("boards")
    await desk.add("helpers", board_id=board, user_id=ann)
    of_ann, of_bob = await reader(desk, own=ann), await reader(desk, own=new_id())
    card = await desk.add("cards", board_id=board)
    await desk.change("cards", card, board_id=other)
    await desk.change("cards", card, title="t")
    await desk.change("cards", card, board_id=board)
    assert await of_ann.seen() == [("created", card), ("left", card), ("entered", card)]
    assert await of_bob.seen() == []


@pytest.mark.promise("entities, changes: Another user's feed has not one byte of a row, for each rule of own rows")
async def test_a_share_lets_a_reader_see_a_row_and_its_end_leaves_it(desk: Desk) -> None:
    made, ann = tenant(), user()
    desk.tenant = OneTenant(made.id)
    async with desk.database.transaction(EveryTenant()) as tx:
        await tx.tenants.add(made)
        await tx.users.add(ann)
        await tx.memberships.save(ann.id, made.id, [], None, NOW)
    card, act = await desk.add("cards"), Act(desk.user, NOW)
    of_ann, of_bob, everything = await reader(desk, own=ann.id), await reader(desk, own=new_id()), await reader(desk)
    async with desk.database.transaction(desk.tenant) as tx:
        await tx.shares.put(CARDS, card, ann.id, "read", act)
    assert await of_ann.seen() == [("entered", card)]
    await desk.change("cards", card, title="t")
    assert await of_ann.seen() == [("changed", card)]
    async with desk.database.transaction(desk.tenant) as tx:
        await tx.shares.remove(CARDS, card, ann.id, act)
    await desk.change("cards", card, title="secret")
    assert await of_ann.seen() == [("left", card)]
    assert (await of_bob.seen(), await everything.seen()) == ([], [("changed", card), ("changed", card)])


async def test_hidden_fields_are_neither_in_rows_nor_in_names(desk: Desk) -> None:
    limited = await reader(desk, hidden=frozenset({"secret"}))
    card = await desk.add("cards", secret="s")
    await desk.change("cards", card, secret="t", title="new")
    created, changed = (await limited.page()).events
    assert created.seen.data is not None
    assert b"secret" not in bytes(created.seen.data)
    assert (changed.entry.row_id, changed.seen.changed) == (card, ("title",))


async def test_large_rows_are_to_be_read_and_stay_hidden_from_other_users(desk: Desk) -> None:
    ann = new_id()
    everything, of_ann = await reader(desk), await reader(desk, own=ann)
    of_bob = await reader(desk, own=new_id())
    card = await desk.add("cards", title="x" * 70_000, owner_id=ann)
    for each in (everything, of_ann):
        (event,) = (await each.page()).events
        assert (event.entry.row_id, event.seen.data, event.seen.truncated) == (card, None, True)
    assert await of_bob.seen() == []


async def test_shared_rows_come_with_those_of_the_tenant(desk: Desk) -> None:
    everything = await reader(desk)
    card, colour = await desk.add("cards"), await desk.add("colours")
    assert await everything.seen() == [("created", card), ("created", colour)]


async def test_cursors_of_other_epochs_and_ahead_of_the_log_are_refused(desk: Desk) -> None:
    everything = await reader(desk)
    assert everything.cursor is not None
    given = read_feed_cursor(everything.cursor)
    everything.cursor = write_feed_cursor(FeedCursor(given.epoch, given.own + 1, given.shared))
    with pytest.raises(BadRequest, match="ahead"):
        await everything.page()
    other = "0" * 8 if given.epoch != "0" * 8 else "1" * 8
    everything.cursor = write_feed_cursor(FeedCursor(other, 0, 0))
    with pytest.raises(CursorExpired):
        await everything.page()


@pytest.mark.promise("GET /api/changes: a request that waits answers no change after its caller has lost access")
async def test_a_caller_who_lost_access_during_the_wait_receives_no_change(desk: Desk) -> None:
    everything = await reader(desk)

    async def revoked(_: Caller) -> None:
        await desk.add("boards", name="after the logout")
        await desk.sequence()
        raise Unauthorized

    following = Following(desk.database, REGISTRY, revoked, Arrivals(MemoryWakes()))
    asked = Asked(after=read_feed_cursor(everything.cursor or ""), wait=20)
    with pytest.raises(Unauthorized):
        await following.page(desk.write.caller, everything.scope, everything.interests, asked)
