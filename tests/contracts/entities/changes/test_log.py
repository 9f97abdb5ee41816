"""Positions of the log: one order per tenant, pages after a position, and loss that is noticed."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from adapters.memory.database import MemoryDatabase
from adapters.memory.upkeep import MemoryUpkeep
from adapters.postgres.operations.upkeep import PostgresUpkeep
from application.ports.upkeep import Upkeep
from domain.errors import CursorExpired
from domain.retention import DatedRecords
from domain.scope import EveryTenant, OneTenant
from tests.builders import new_id
from tests.contracts.entities.changes.conftest import Desk
from tests.contracts.entities.changes.followed_entities import FEEDS, REGISTRY


@pytest.mark.promise("entities, changes: One order per tenant, with positions 1, 2, 3, … without gaps")
async def test_positions_ascend_without_gaps_in_each_tenant(desk: Desk) -> None:
    other = Desk(desk.database)
    for number in range(5):
        await desk.add("labels", name=f"{number}")
        await other.add("labels")
    assert len(await desk.entries()) == len(await other.entries()) == 5
    async with desk.database.read_only(OneTenant(new_id())) as read:
        assert (await read.changes.heads()).own == 0
        assert (await read.changes.after("own", 0, 0, 100, FEEDS)).entries == []


async def test_a_page_ends_at_its_size_and_says_what_it_examined(desk: Desk) -> None:
    for _ in range(3):
        await desk.add("labels")
        await desk.add("boards")
    await desk.sequence()
    async with desk.database.read_only(desk.tenant) as read:
        head = (await read.changes.heads()).own
        page = await read.changes.after("own", 0, head, 2, ["boards"])
        assert ([entry.position for entry in page.entries], page.reached) == ([2, 4], 4)
        page = await read.changes.after("own", page.reached, head, 2, ["boards"])
        assert ([entry.position for entry in page.entries], page.reached) == ([6], 6)
        assert (await read.changes.after("own", 0, head, 9, ["cards"])).reached == head


async def test_shared_rows_have_a_second_stream(desk: Desk) -> None:
    await desk.shared_entries()
    colour = await desk.add("colours")
    assert await desk.lines() == []
    assert [entry.row_id for entry in await desk.shared_entries()] == [colour]
    async with desk.database.read_only(desk.tenant) as read:
        heads = await read.changes.heads()
        assert heads.own == 0
        assert heads.epoch == (await read.changes.heads()).epoch


@pytest.mark.promise("entities, changes: CURSOR_EXPIRED 410 for entries that are no longer stored; none is skipped")
async def test_removed_entries_are_noticed(desk: Desk, request: pytest.FixtureRequest) -> None:
    for _ in range(3):
        await desk.add("labels")
    await desk.sequence()
    database = desk.database
    upkeep: Upkeep
    if isinstance(database, MemoryDatabase):
        upkeep = MemoryUpkeep(database)
    else:
        upkeep = PostgresUpkeep(request.getfixturevalue("followed_url"), REGISTRY)
    tomorrow = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1, seconds=1)
    assert await upkeep.forget(DatedRecords.CHANGES, tomorrow, 10_000)
    async with database.read_only(desk.tenant) as read:
        assert (await read.changes.heads()).own == 3
        with pytest.raises(CursorExpired):
            await read.changes.after("own", 0, 3, 10, FEEDS)
        with pytest.raises(CursorExpired):
            await read.changes.after("own", 1, 3, 10, ["cards"])
        assert (await read.changes.after("own", 3, 3, 10, FEEDS)).entries == []
    await desk.add("labels")
    await desk.sequence()
    async with database.read_only(desk.tenant) as read:
        assert [entry.position for entry in (await read.changes.after("own", 3, 4, 10, FEEDS)).entries] == [4]


async def test_concurrent_sequencers_give_each_entry_one_position(desk: Desk) -> None:
    await desk.add_all("labels", *({"name": f"{number}"} for number in range(300)))

    async def sequence() -> int:
        async with desk.database.transaction(EveryTenant()) as tx:
            return sum((await tx.change_queue.sequence(20)).values())

    for _ in range(40):
        await asyncio.gather(*(sequence() for _ in range(3)))
    async with desk.database.read_only(EveryTenant()) as read:
        assert await read.change_queue.oldest() is None
    assert len(await desk.entries()) == 300
