"""Lines of histories past their retention: deleted by the tables' owner, and whatever reads a history goes on."""

from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
import pytest

from adapters.postgres.connection.login_roles import ensure_login_role
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.operations.upkeep import PostgresUpkeep
from application.ports.entities.records import Act, Change, NewRow
from application.ports.upkeep import Upkeep
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.retention import DatedRecords
from domain.scope import EveryTenant, OneTenant
from tests.adapters.postgres.test_login_roles import plain_url
from tests.builders import NOW, new_id
from tests.contracts.operations.test_old_events import upkeep

__all__ = ["plain_url", "upkeep"]

HERE, THERE = OneTenant(new_id()), OneTenant(new_id())
TICK = timedelta.resolution
LONG_AGO = NOW - timedelta(days=800)
BY = new_id()


async def add(database: WholeDatabase, registry: Registry, scope: OneTenant, at: datetime) -> UUID:
    """A row of an entity with a history."""
    values = {"name": f"C {new_id()}", "description": None}
    async with database.transaction(scope) as tx:
        (stored,) = await tx.records.add(registry["categories"], [NewRow(new_id(), values)], Act(by=BY, at=at))
    return stored.id


async def change(database: WholeDatabase, registry: Registry, row_id: UUID, at: datetime) -> None:
    async with database.transaction(HERE) as tx:
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
async def test_lines_of_every_tenant_go_once_their_month_is_past_and_younger_ones_stay(
    database: WholeDatabase, registry: Registry, upkeep: Upkeep
) -> None:
    rows = {scope: await add(database, registry, scope, NOW + TICK) for scope in (HERE, THERE)}
    later = NOW + timedelta(days=70)
    await change(database, registry, rows[HERE], later)
    assert await forget_all(upkeep, NOW) == [0]
    assert await told(database, registry, HERE, rows[HERE]) == [(2, "changed"), (1, "created")]
    assert sum(number or 0 for number in await forget_all(upkeep, NOW + timedelta(days=32))) == 2
    assert await told(database, registry, HERE, rows[HERE]) == [(2, "changed")]
    assert await told(database, registry, THERE, rows[THERE]) == []


async def test_lines_that_lie_in_no_month_go_some_at_a_time(
    database: WholeDatabase, registry: Registry, upkeep: Upkeep
) -> None:
    row = await add(database, registry, HERE, LONG_AGO)
    for n in range(1, 5):
        await change(database, registry, row, LONG_AGO + n * TICK)
    assert await forget_all(upkeep, LONG_AGO + 2 * TICK) == [2, 1, 0]
    assert await told(database, registry, HERE, row) == [(5, "changed"), (4, "changed")]


@pytest.mark.promise(
    "security, audit trail: Lines of histories are deleted past a retention that the operator sets, by the tables' "
    "owner alone, and rows are written as before"
)
async def test_a_row_whose_oldest_lines_are_gone_is_changed_deleted_and_restored_as_before(
    database: WholeDatabase, registry: Registry, upkeep: Upkeep
) -> None:
    row, other = [await add(database, registry, HERE, LONG_AGO) for _ in range(2)]
    await change(database, registry, row, NOW)
    assert await forget_all(upkeep, LONG_AGO) == [2, 0]
    assert await told(database, registry, HERE, other) == []
    act = Act(by=BY, at=NOW)
    async with database.transaction(HERE) as tx:
        assert await tx.records.remove(registry["categories"], [row, other], act, None) == sorted([row, other])
    for row_id in (row, other):
        async with database.transaction(HERE) as tx:
            await tx.records.restore(registry["categories"], row_id, act)
    await change(database, registry, other, NOW)
    assert await told(database, registry, HERE, row) == [(4, "restored"), (3, "deleted"), (2, "changed")]
    assert await told(database, registry, HERE, other) == [(4, "changed"), (3, "restored"), (2, "deleted")]


async def test_pages_and_totals_count_the_lines_that_are_left(
    database: WholeDatabase, registry: Registry, upkeep: Upkeep
) -> None:
    row = await add(database, registry, HERE, LONG_AGO)
    for n in range(1, 6):
        await change(database, registry, row, LONG_AGO + n * TICK)
    await forget_all(upkeep, LONG_AGO + TICK)
    categories = registry["categories"]
    async with database.read_only(HERE) as read:
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
    row = await add(postgres, registry, HERE, LONG_AGO)
    await ensure_login_role(database_url, plain_url)
    assert await PostgresUpkeep(plain_url, registry).forget(DatedRecords.HISTORIES, NOW, 10) is None
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with postgres.transaction(EveryTenant()) as tx:
            await tx.connection.execute("DELETE FROM row_history")
    assert await told(postgres, registry, HERE, row) == [(1, "created")]
