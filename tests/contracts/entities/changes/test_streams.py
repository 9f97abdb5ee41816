"""Streams of a process: order, resumption, filters, own rows, limits and ends."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from application.entities.changes.streams.open_stream import MOST_WAITING
from application.entities.changes.streams.streams import StreamLimits
from application.ports.entities.records import Act
from domain.errors import BadRequest, CursorExpired, RateLimited, ServiceUnavailable
from domain.scope import (
    EveryTenant,
    OneTenant,
    grants_subject,
    role_subject,
    session_subject,
    tenant_subject,
    user_subject,
)
from tests.builders import NOW, new_id, tenant, user
from tests.contracts.entities.changes.conftest import Desk
from tests.contracts.entities.changes.listeners import CARDS, Listener, Station, Told, interests_of

OLD = "MDAwMDAwMDAuMC4w"
"""Cursor of another epoch."""


@pytest.fixture
async def station(desk: Desk) -> AsyncIterator[Station]:
    opened = Station(desk)
    yield opened
    await opened.close()


def seen(told: list[Told]) -> list[tuple[str, int]]:
    return [(each.action, each.data["version"]) for each in told]


def keys(told: list[Told]) -> list[tuple[str, int]]:
    return [(each.data["id"], each.data["version"]) for each in told]


@pytest.mark.promise("GET /api/changes/stream: each change in order, and the missed ones after a reconnect")
async def test_a_stream_resumes_after_its_last_event(station: Station, desk: Desk) -> None:
    listener = await station.listen()
    card = await desk.add("cards")
    await desk.change("cards", card, title="t")
    await desk.sequence()
    first = await listener.first(2)
    assert seen(first) == [("created", 1), ("changed", 2)]
    assert first[1].data["changed"] == ["title"]
    await listener.close()
    await desk.remove("cards", card)
    await desk.sequence()
    for after, expected in ((first[0].id, [("changed", 2), ("deleted", 3)]), (first[1].id, [("deleted", 3)])):
        resumed = await station.listen(after=after)
        assert seen(await resumed.first(len(expected))) == expected
        await resumed.close()


async def test_a_stream_far_behind_catches_up_while_others_write(station: Station, desk: Desk) -> None:
    start = await station.listen()
    await start.close()
    await desk.add_all("cards", *({"title": f"{number}"} for number in range(700)))
    await desk.sequence()
    live = await station.listen()
    late = await station.listen(after=start.cursor)
    await desk.add_all("cards", *({"title": f"more {number}"} for number in range(50)))
    await desk.sequence()
    assert len(set(keys(await late.first(750)))) == 750
    assert keys(late.told)[700:] == keys(await live.first(50))
    assert len(late.told) == 750


async def test_streams_that_resume_within_the_cache_see_what_the_log_has(station: Station, desk: Desk) -> None:
    live = await station.listen()
    for round_ in range(4):
        await desk.add_all("cards", *({"title": f"{round_} {number}"} for number in range(40)))
        await desk.sequence()
    told = await live.first(160)
    for place in (0, 1, 79, 158):
        resumed = await station.listen(after=told[place].id)
        assert keys(await resumed.first(159 - place)) == keys(told[place + 1 :])


async def test_rows_of_all_tenants_wake_every_tenant(station: Station, desk: Desk) -> None:
    listener = await station.listen()
    colour = await desk.add("colours")
    await desk.sequence()
    assert [each.data["id"] for each in await listener.first(1)] == [str(colour)]


async def test_a_filter_decides_which_rows_enter_and_leave(station: Station, desk: Desk) -> None:
    mine, other = await station.listen(title="mine"), await station.listen(title="other")
    card = await desk.add("cards", title="mine")
    await desk.change("cards", card, title="other")
    await desk.sequence()
    assert seen(await mine.first(2)) == [("created", 1), ("left", 2)]
    assert seen(await other.first(1)) == [("entered", 2)]
    assert mine.told[1].data["data"] is None


@pytest.mark.promise("GET /api/changes/stream: not one byte of another user's row, by any rule")
async def test_a_limited_stream_has_no_byte_of_another_users_row(station: Station, desk: Desk) -> None:
    ann, ben = new_id(), new_id()
    of_ann, of_ben = await station.listen(own=ann), await station.listen(own=ben)
    board = await desk.add("boards", name="board")
    hidden = await desk.add("cards", title="only for ann", owner_id=ann)
    await desk.change("cards", hidden, title="still for ann")
    through = await desk.add("cards", title="by the board", board_id=board)
    await desk.sequence()
    await of_ann.first(3)
    helper = await desk.add("helpers", board_id=board, user_id=ben)
    await desk.change("cards", through, title="ben helps")
    await desk.sequence()
    # The board, and the card that the rule shows now.
    assert [(each.data["id"], each.action) for each in await of_ben.first(2)] == [
        (str(board), "created"),
        (str(through), "changed"),
    ]
    await desk.remove("helpers", helper)
    await desk.change("cards", through, title="ben is gone")
    await desk.change("cards", hidden, owner_id=ben)
    await desk.change("cards", hidden, owner_id=ann)
    await desk.sequence()
    assert [each.action for each in (await of_ben.first(4))[2:]] == ["entered", "left"]
    for secret in (b"only for ann", b'still for ann"', b"by the board", b"ben is gone"):
        assert secret not in of_ben.raw.replace(b"still for ann", b"", 1)
    assert of_ben.told[2].data["changed"] == []
    assert of_ben.told[3].data["data"] is None


async def test_a_share_enters_and_leaves(station: Station, desk: Desk) -> None:
    made, ben = tenant(), user()
    desk.tenant, act = OneTenant(made.id), Act(desk.user, NOW)
    async with desk.database.transaction(EveryTenant()) as tx:
        await tx.tenants.add(made)
        await tx.users.add(ben)
        await tx.memberships.save(ben.id, made.id, [], None, NOW)
    card = await desk.add("cards", title="shared")
    await desk.sequence()
    listener = await station.listen(own=ben.id)
    async with desk.database.transaction(desk.tenant) as tx:
        await tx.shares.put(CARDS, card, ben.id, "read", act)
    await desk.sequence()
    assert (await listener.first(1))[0].action == "entered"
    async with desk.database.transaction(desk.tenant) as tx:
        await tx.shares.remove(CARDS, card, ben.id, act)
    await desk.change("cards", card, title="secret again")
    await desk.sequence()
    assert (await listener.first(2))[1].action == "left"
    assert b"secret again" not in listener.raw


@pytest.mark.promise("GET /api/changes/stream: a stream ends with its rights, within one event or 5 seconds")
@pytest.mark.parametrize("subject", [user_subject, session_subject, grants_subject, tenant_subject, role_subject])
async def test_a_stream_without_rights_receives_no_later_event(station: Station, desk: Desk, subject: Any) -> None:
    name = subject(new_id())
    who = station.caller(issued={"tenant:of another": 3, name: 0})
    listener, other = await station.listen(who=who), await station.listen()
    await desk.add("cards", title="before")
    await desk.sequence()
    await listener.first(1)
    await station.revoke(name)
    await desk.add("cards", title="after the loss")
    await desk.sequence()
    await other.first(2)
    assert await listener.ending() == "revoked"
    assert b"after the loss" not in listener.raw


async def test_a_stream_without_events_ends_with_its_rights(station: Station) -> None:
    name = session_subject(new_id())
    listener = await station.listen(who=station.caller(issued={name: 0}))
    await station.revoke(name)
    began = asyncio.get_running_loop().time()
    assert await listener.ending() == "revoked"
    assert asyncio.get_running_loop().time() - began < 5.0


async def test_a_super_admins_stream_ends_with_the_other_tenant(station: Station, desk: Desk) -> None:
    who = station.caller(tenant_id=new_id(), is_super_admin=True, issued={})
    listener = await station.listen(who=who)
    await station.revoke(tenant_subject(desk.tenant.id))
    assert await listener.ending() == "revoked"


@pytest.mark.parametrize(("kind", "minutes", "name"), [("person", 600, "expired"), ("service", 60, "moved")])
async def test_a_stream_ends_with_its_token(station: Station, desk: Desk, kind: Any, minutes: int, name: str) -> None:
    listener = await station.listen(who=station.caller(kind=kind))
    station.clock.move(timedelta(minutes=minutes) - timedelta(seconds=2))
    await desk.add("cards")
    await desk.sequence()
    await listener.first(1)
    station.clock.move(timedelta(seconds=2))
    await desk.add("cards")
    await desk.sequence()
    assert await listener.ending() == name
    assert len(listener.told) == 2


async def test_a_client_that_reads_nothing_is_ended(station: Station, desk: Desk) -> None:
    slow = station.pieces(station.caller(), desk.tenant, interests_of(None))
    opening = await anext(slow)
    assert b"id: " in opening
    other = await station.listen()
    await desk.add_all("cards", *({"title": f"{number}"} for number in range(MOST_WAITING + 200)))
    await desk.sequence()
    await other.first(MOST_WAITING + 200)
    assert [piece async for piece in slow] == [b"event: behind\ndata: {}\n\n"]


@pytest.mark.promise("GET /api/changes/stream: 20 open streams of a caller, 200 of a tenant, then 429")
async def test_the_number_of_streams_is_limited(desk: Desk) -> None:
    station = Station(desk, StreamLimits(of_caller=2, of_tenant=3, of_process=4))
    ann = station.caller()
    first = await station.listen(who=ann)
    await station.listen(who=ann)
    with pytest.raises(RateLimited):
        await station.listen(who=ann)
    await station.listen()
    with pytest.raises(RateLimited):
        await station.listen()
    elsewhere = OneTenant(new_id())
    other = station.caller(tenant_id=elsewhere.id)
    fourth = Listener(station.pieces(other, elsewhere, interests_of(None)))
    station.listeners.append(await fourth.opened())
    with pytest.raises(ServiceUnavailable):
        await anext(station.pieces(other, elsewhere, interests_of(None)))
    assert station.streams.count == 4
    await first.close()
    await (await station.listen(who=ann)).close()
    await station.close()
    assert station.streams.count == 0


async def test_a_stream_refuses_what_a_page_refuses(station: Station, desk: Desk) -> None:
    listener = await station.listen()
    ahead = listener.cursor
    await desk.add("cards")
    await desk.sequence()
    ahead = (await listener.first(1))[0].id
    elsewhere = OneTenant(new_id())
    other = station.caller(tenant_id=elsewhere.id)
    with pytest.raises(BadRequest):  # a position of another tenant, which has fewer
        await anext(station.pieces(other, elsewhere, interests_of(None), ahead))
    with pytest.raises(CursorExpired):
        await station.listen(after=OLD)
    with pytest.raises(BadRequest):
        await anext(station.streams.pieces(station.caller(), EveryTenant(), interests_of(None), None))


async def test_the_end_of_the_process_ends_all_streams(station: Station) -> None:
    listeners = [await station.listen() for _ in range(3)]
    station.streams.end_all()
    assert [await listener.ending() for listener in listeners] == ["moved"] * 3
    with pytest.raises(ServiceUnavailable):
        await station.listen()


async def test_a_thousand_rows_at_once_and_a_large_row_arrive(station: Station, desk: Desk) -> None:
    listener = await station.listen()
    await desk.add_all("cards", *({"title": f"{number}"} for number in range(1_000)))
    large = await desk.add("cards", title="x" * 70_000)
    await desk.sequence()
    told = await listener.first(1_001)
    assert len(set(keys(told))) == 1_001
    last = told[-1].data
    assert (last["id"], last["data"], last["truncated"]) == (str(large), None, True)
