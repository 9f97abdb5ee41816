"""Events past their retention: deleted by the owner of the trail, at the latest when their month is past it.

Lines of histories past their retention: deleted by the tables' owner, and whatever reads a history goes on.
"""

from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
import pytest

from adapters.memory.database import MemoryDatabase
from adapters.memory.upkeep import MemoryUpkeep
from adapters.postgres.connection.login_roles import ensure_login_role
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.operations.upkeep import PostgresUpkeep
from application.ports.entities.records import Act, Change, NewRow
from application.ports.upkeep import Upkeep
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.entities.query.query import Count, Query
from domain.retention import DatedRecords
from domain.scope import AuditEvent, EveryTenant, OneTenant
from tests.adapters.postgres.connection.test_login_roles import plain_url
from tests.builders import NOW, new_id, tenant

__all__ = ["plain_url"]

HERE, THERE = new_id(), new_id()


@pytest.fixture
def upkeep(database: WholeDatabase, registry: Registry) -> Upkeep:
    if isinstance(database, MemoryDatabase):
        return MemoryUpkeep(database)
    assert isinstance(database, PostgresDatabase)
    return PostgresUpkeep(database.url, registry)


async def add(database: WholeDatabase, tenant_id: UUID, *moments: datetime) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.tenants.add(tenant(id=tenant_id))
        for at in moments:
            await tx.audit.add(tenant_id, AuditEvent(actor_id=None, action="made", occurred_at=at))


async def left(database: WholeDatabase, registry: Registry, tenant_id: UUID) -> int | None:
    async with database.read_only(OneTenant(tenant_id)) as read:
        return (await read.records.page(registry["audit-events"], Query(sort=(), count=Count.EXACT))).total


@pytest.mark.promise(
    "security, audit trail: Events are deleted past a retention that the operator sets, by the owner of the trail alone"
)
async def test_events_of_every_tenant_are_deleted_after_their_month_and_newer_ones_remain(
    database: WholeDatabase, registry: Registry, upkeep: Upkeep
) -> None:
    tick = timedelta.resolution
    await add(database, HERE, NOW + tick, NOW + tick)
    await add(database, THERE, NOW + tick)
    assert await upkeep.forget(DatedRecords.EVENTS, NOW, 2) == 0
    assert [await left(database, registry, place) for place in (HERE, THERE)] == [2, 1]
    past = NOW + timedelta(days=32)
    gone = 0
    while (number := await upkeep.forget(DatedRecords.EVENTS, past, 2)) != 0:
        assert number is not None
        gone += number
    assert gone == 3
    assert [await left(database, registry, place) for place in (HERE, THERE)] == [0, 0]


@pytest.mark.promise(
    "security, audit trail: Events are deleted past a retention that the operator sets, by the owner of the trail alone"
)
async def test_the_role_of_the_service_forgets_nothing(
    postgres: PostgresDatabase,
    registry: Registry,
    database_url: str,
    plain_url: str,  # the fixture
) -> None:
    await add(postgres, HERE, NOW)
    await ensure_login_role(database_url, plain_url)
    assert await PostgresUpkeep(plain_url, registry).forget(DatedRecords.EVENTS, NOW, 10) is None
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with postgres.transaction(EveryTenant()) as tx:
            await tx.connection.execute("DELETE FROM audit_events")
    assert await left(postgres, registry, HERE) == 1


__all___of_old_histories = ["plain_url", "upkeep"]

HERE_OF_OLD_HISTORIES, THERE_OF_OLD_HISTORIES = OneTenant(new_id()), OneTenant(new_id())
TICK = timedelta.resolution
LONG_AGO = NOW - timedelta(days=800)
BY = new_id()


async def add_of_old_histories(database: WholeDatabase, registry: Registry, scope: OneTenant, at: datetime) -> UUID:
    """A row of an entity with a history."""
    values = {"name": f"C {new_id()}", "description": None}
    async with database.transaction(scope) as tx:
        (stored,) = await tx.records.add(registry["categories"], [NewRow(new_id(), values)], Act(by=BY, at=at))
    return stored.id


async def change(database: WholeDatabase, registry: Registry, row_id: UUID, at: datetime) -> None:
    async with database.transaction(HERE_OF_OLD_HISTORIES) as tx:
        changes = [Change(row_id, {"description": f"{at}"})]
        await tx.records.change(registry["categories"], changes, Act(by=BY, at=at))


async def told(database: WholeDatabase, registry: Registry, scope: OneTenant, row_id: UUID) -> list[tuple[int, str]]:
    async with database.read_only(scope) as read:
        entries, total = await read.history.page(registry["categories"], row_id, 0, 100)
    assert total == len(entries)
    return [(entry.version, entry.action) for entry in entries]


async def forget_all(upkeep: Upkeep, before: datetime) -> list[int | None]:
    """Deletes two lines at a time, until nothing is left, and tells how many went each time."""
    gone: list[int | None] = []
    while gone[-1:] != [0]:
        gone.append(await upkeep.forget(DatedRecords.HISTORIES, before, 2))
    return gone


@pytest.mark.promise(
    "security, audit trail: Lines of histories are deleted past a retention that the operator sets, by the tables' "
    "owner alone, and rows are written as before"
)
async def test_history_entries_are_deleted_after_their_month_and_newer_ones_remain(
    database: WholeDatabase, registry: Registry, upkeep: Upkeep
) -> None:
    rows = {
        scope: await add_of_old_histories(database, registry, scope, NOW + TICK)
        for scope in (HERE_OF_OLD_HISTORIES, THERE_OF_OLD_HISTORIES)
    }
    later = NOW + timedelta(days=70)
    await change(database, registry, rows[HERE_OF_OLD_HISTORIES], later)
    assert await forget_all(upkeep, NOW) == [0]
    assert await told(database, registry, HERE_OF_OLD_HISTORIES, rows[HERE_OF_OLD_HISTORIES]) == [
        (2, "changed"),
        (1, "created"),
    ]
    assert sum(number or 0 for number in await forget_all(upkeep, NOW + timedelta(days=32))) == 2
    assert await told(database, registry, HERE_OF_OLD_HISTORIES, rows[HERE_OF_OLD_HISTORIES]) == [(2, "changed")]
    assert await told(database, registry, THERE_OF_OLD_HISTORIES, rows[THERE_OF_OLD_HISTORIES]) == []


async def test_history_entries_in_the_default_partition_are_deleted_in_batches(
    database: WholeDatabase, registry: Registry, upkeep: Upkeep
) -> None:
    row = await add_of_old_histories(database, registry, HERE_OF_OLD_HISTORIES, LONG_AGO)
    for n in range(1, 5):
        await change(database, registry, row, LONG_AGO + n * TICK)
    assert await forget_all(upkeep, LONG_AGO + 2 * TICK) == [2, 1, 0]
    assert await told(database, registry, HERE_OF_OLD_HISTORIES, row) == [(5, "changed"), (4, "changed")]


@pytest.mark.promise(
    "security, audit trail: Lines of histories are deleted past a retention that the operator sets, by the tables' "
    "owner alone, and rows are written as before"
)
async def test_a_row_with_deleted_history_entries_can_be_changed_deleted_and_restored(
    database: WholeDatabase, registry: Registry, upkeep: Upkeep
) -> None:
    row, other = [await add_of_old_histories(database, registry, HERE_OF_OLD_HISTORIES, LONG_AGO) for _ in range(2)]
    await change(database, registry, row, NOW)
    assert await forget_all(upkeep, LONG_AGO) == [2, 0]
    assert await told(database, registry, HERE_OF_OLD_HISTORIES, other) == []
    act = Act(by=BY, at=NOW)
    async with database.transaction(HERE_OF_OLD_HISTORIES) as tx:
        assert await tx.records.remove(registry["categories"], [row, other], act, None) == sorted([row, other])
    for row_id in (row, other):
        async with database.transaction(HERE_OF_OLD_HISTORIES) as tx:
            await tx.records.restore(registry["categories"], row_id, act)
    await change(database, registry, other, NOW)
    assert await told(database, registry, HERE_OF_OLD_HISTORIES, row) == [
        (4, "restored"),
        (3, "deleted"),
        (2, "changed"),
    ]
    assert await told(database, registry, HERE_OF_OLD_HISTORIES, other) == [
        (4, "changed"),
        (3, "restored"),
        (2, "deleted"),
    ]


async def test_pages_and_totals_count_the_remaining_history_entries(
    database: WholeDatabase, registry: Registry, upkeep: Upkeep
) -> None:
    row = await add_of_old_histories(database, registry, HERE_OF_OLD_HISTORIES, LONG_AGO)
    for n in range(1, 6):
        await change(database, registry, row, LONG_AGO + n * TICK)
    await forget_all(upkeep, LONG_AGO + TICK)
    categories = registry["categories"]
    async with database.read_only(HERE_OF_OLD_HISTORIES) as read:
        pages = [await read.history.page(categories, row, offset, 2) for offset in (0, 2, 3, 4, 9)]
    assert [([entry.version for entry in entries], total) for entries, total in pages] == [
        ([6, 5], 4),
        ([4, 3], 4),
        ([3], 4),
        ([], 4),
        ([], 4),
    ]


@pytest.mark.promise(
    "security, audit trail: Lines of histories are deleted past a retention that the operator sets, by the tables' "
    "owner alone, and rows are written as before"
)
async def test_the_role_of_the_service_deletes_no_line(
    postgres: PostgresDatabase,
    registry: Registry,
    database_url: str,
    plain_url: str,  # the fixture
) -> None:
    row = await add_of_old_histories(postgres, registry, HERE_OF_OLD_HISTORIES, LONG_AGO)
    await ensure_login_role(database_url, plain_url)
    assert await PostgresUpkeep(plain_url, registry).forget(DatedRecords.HISTORIES, NOW, 10) is None
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with postgres.transaction(EveryTenant()) as tx:
            await tx.connection.execute("DELETE FROM row_history")
    assert await told(postgres, registry, HERE_OF_OLD_HISTORIES, row) == [(1, "created")]
