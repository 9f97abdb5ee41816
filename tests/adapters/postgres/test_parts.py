"""Parts of the audit trail by month: made ahead, closed to the service, and dropped whole."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import asyncpg
import pytest

from adapters.postgres.migrations.commands import run_command
from adapters.postgres.migrations.migrate import upgrade
from adapters.postgres.migrations.pending import VERSIONS
from adapters.postgres.operations.parts import forget, make_parts
from adapters.postgres.operations.upkeep import PostgresUpkeep
from adapters.postgres.schema.parts import IN_PARTS
from adapters.postgres.schema.row_security import ROLE
from adapters.postgres.schema.schema import metadata_for
from domain.entities.declaration import Registry
from domain.retention import DatedRecords
from tests.conftest import NewDatabase
from tests.waiting import HUNG_AFTER

Connection = asyncpg.Connection

HERE, THERE = uuid4(), uuid4()
EVENTS = IN_PARTS[DatedRecords.EVENTS]
PARTS = """
SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'audit_events'::regclass ORDER BY 1"""
TENANT = """
INSERT INTO tenants (id, name, identifier, created_at, settings)
SELECT id, id::text, id::text, now(), '{}' FROM unnest($1::uuid[]) id"""
EVENT = "INSERT INTO audit_events (tenant_id, id, action, occurred_at) VALUES ($1, $2, 'made', $3)"
MONTH = timedelta(days=31)


def id_at(moment: datetime) -> UUID:
    """A UUIDv7 of the moment."""
    return UUID(int=int(moment.timestamp() * 1000) << 80 | 0x7 << 76 | uuid4().int & (1 << 64) - 1)


def now() -> datetime:
    return datetime.now(UTC)


def part_of(moment: datetime) -> str:
    return f"audit_events_{moment:%Y%m}"


def next_month(moment: datetime) -> datetime:
    return (moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0) + MONTH).replace(day=1)


async def add(owner: "Connection[asyncpg.Record]", *moments: datetime) -> None:
    """An event of each moment in each of two tenants."""
    await owner.executemany(EVENT, [(tenant, id_at(at), at) for at in moments for tenant in (HERE, THERE)])


async def parts(owner: "Connection[asyncpg.Record]") -> list[str]:
    return [row[0] for row in await owner.fetch(PARTS)]


async def where(owner: "Connection[asyncpg.Record]") -> dict[str, int]:
    """The number of rows in each part that has some."""
    rows = await owner.fetch("SELECT tableoid::regclass::text, count(*) FROM audit_events GROUP BY 1")
    return {row[0]: row[1] for row in rows}


@pytest.fixture
async def url(new_database: NewDatabase) -> str:
    return await new_database()


@pytest.fixture
async def owner(url: str) -> AsyncIterator["Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(url, server_settings={"tenantry.scope": "every"})
    await connection.execute(TENANT, [HERE, THERE])
    yield connection
    await connection.close()


@pytest.fixture
async def service(url: str) -> AsyncIterator["Connection[asyncpg.Record]"]:
    """The role of the service, in the scope of one tenant."""
    connection = await asyncpg.connect(url, server_settings={"role": ROLE, "tenantry.scope": str(HERE)})
    yield connection
    await connection.close()


async def test_events_of_each_month_lie_in_its_part_and_others_in_the_rest(
    owner: "Connection[asyncpg.Record]",
) -> None:
    later = next_month(now())
    await add(owner, now(), later, now() - timedelta(days=800))
    assert await where(owner) == {part_of(now()): 2, part_of(later): 2, "audit_events_rest": 2}


async def test_each_tenant_sees_its_own_events_in_every_part(
    owner: "Connection[asyncpg.Record]", service: "Connection[asyncpg.Record]"
) -> None:
    await add(owner, now(), next_month(now()), now() - timedelta(days=800))
    found = await service.fetch("SELECT tenant_id, tableoid FROM audit_events")
    assert {row["tenant_id"] for row in found} == {HERE}
    assert len({row["tableoid"] for row in found}) == len(found) == 3
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="row-level security"):
        await service.execute(EVENT, THERE, id_at(now()), now())
    await service.execute(EVENT, HERE, id_at(now()), now())


async def test_the_service_reaches_no_part_itself(
    owner: "Connection[asyncpg.Record]", service: "Connection[asyncpg.Record]"
) -> None:
    await owner.execute(f"DROP TABLE {part_of(next_month(now()))}")
    await make_parts(owner, EVENTS)
    names = await parts(owner)
    assert part_of(next_month(now())) in names
    for name in names:
        for statement in (f"SELECT FROM {name}", f"DELETE FROM {name}", f"INSERT INTO {name} DEFAULT VALUES"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await service.execute(statement)
        security = "SELECT relrowsecurity AND relforcerowsecurity FROM pg_class WHERE oid = $1::text::regclass"
        assert await owner.fetchval(security, name)
    # a backup by an owner without rights of its own reads each part by its policy
    policies = "SELECT DISTINCT qual, with_check, cmd, permissive, roles FROM pg_policies WHERE tablename ~ '^audit_ev'"
    assert len(await owner.fetch(policies)) == 1
    tables = "SELECT tablename FROM pg_policies WHERE tablename ~ '^audit_ev' AND policyname = 'tenant_rows'"
    assert {row[0] for row in await owner.fetch(tables)} == {"audit_events", *names}


async def test_ten_processes_make_the_same_parts_once(url: str, owner: "Connection[asyncpg.Record]") -> None:
    before = await parts(owner)
    for name in before:
        if name != "audit_events_rest":
            await owner.execute(f"DROP TABLE {name}")
    connections = [await asyncpg.connect(url) for _ in range(10)]
    await asyncio.gather(*(make_parts(connection, EVENTS) for connection in connections))
    for connection in connections:
        await connection.close()
    assert await parts(owner) == before


async def test_a_month_whose_events_lie_in_the_rest_gets_no_part_and_refuses_no_event(
    owner: "Connection[asyncpg.Record]",
) -> None:
    await owner.execute(f"DROP TABLE {part_of(now())}")
    await add(owner, now())
    await make_parts(owner, EVENTS)
    assert part_of(now()) not in await parts(owner)
    await add(owner, now())
    assert await where(owner) == {"audit_events_rest": 4}


async def test_a_part_that_is_over_is_dropped_whole_and_younger_ones_stay(
    url: str, owner: "Connection[asyncpg.Record]", registry: Registry
) -> None:
    later = next_month(now())
    await add(owner, now(), now(), later)
    upkeep = PostgresUpkeep(url, registry)
    assert await upkeep.forget(DatedRecords.EVENTS, later - timedelta(milliseconds=1), 1) == 0
    assert await upkeep.forget(DatedRecords.EVENTS, later, 1) == 4
    assert part_of(now()) not in await parts(owner)
    assert await where(owner) == {part_of(later): 2}
    assert await upkeep.forget(DatedRecords.EVENTS, later, 1) == 0


async def test_events_in_no_month_are_deleted_one_by_one(owner: "Connection[asyncpg.Record]") -> None:
    old = now() - timedelta(days=800)
    await add(owner, old, old + timedelta(days=1), old + timedelta(days=3), now())
    before = old + timedelta(days=1)
    assert [await forget(owner, EVENTS, before, 3) for _ in range(3)] == [3, 1, 0]
    assert await where(owner) == {"audit_events_rest": 2, part_of(now()): 2}


async def test_a_drop_gives_up_soon_while_somebody_reads_and_writers_go_on(
    url: str, owner: "Connection[asyncpg.Record]", service: "Connection[asyncpg.Record]"
) -> None:
    await add(owner, now())
    cleaner = await asyncpg.connect(url, server_settings={"tenantry.scope": "every"})
    async with service.transaction():
        assert len(await service.fetch("SELECT FROM audit_events")) == 1
        # somebody who is not patient waits behind the drop, and is served when it has given up
        forgetting = asyncio.create_task(forget(cleaner, EVENTS, next_month(now()), 10))
        async with asyncio.timeout(HUNG_AFTER):
            await add(owner, now())
            assert await forgetting == 0
    assert part_of(now()) in await parts(owner)
    assert await forget(cleaner, EVENTS, next_month(now()), 10) == 4
    await cleaner.close()


async def test_a_database_from_before_keeps_its_events_as_one_part(
    empty_database: NewDatabase, registry: Registry
) -> None:
    url = await empty_database()
    await run_command(url, metadata_for(registry), [VERSIONS], lambda commands: commands.upgrade("0069"))
    owner = await asyncpg.connect(url, server_settings={"tenantry.scope": "every"})
    await owner.execute(TENANT, [HERE, THERE])
    old = now() - timedelta(days=40)
    await add(owner, old, now())
    before = await owner.fetch("SELECT * FROM audit_events ORDER BY id")
    assert await upgrade(url, registry) == []
    assert await owner.fetch("SELECT * FROM audit_events ORDER BY id") == before
    later = next_month(next_month(now()))
    await add(owner, now(), later)
    assert await where(owner) == {"audit_events_old": 6, part_of(later): 2}
    service = await asyncpg.connect(url, server_settings={"role": ROLE, "tenantry.scope": str(HERE)})
    assert {row[0] for row in await service.fetch("SELECT tenant_id FROM audit_events")} == {HERE}
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await service.execute("SELECT FROM audit_events_old")
    # exact to the event as long as it is not over, and then dropped as a whole
    assert await forget(owner, EVENTS, old, 10) == 2
    assert await forget(owner, EVENTS, later, 10) == 4
    assert "audit_events_old" not in await parts(owner)
    await owner.close()
    await service.close()


async def test_the_plan_of_a_page_reads_one_index_for_each_part_and_of_one_event_one_part(
    owner: "Connection[asyncpg.Record]",
) -> None:
    await add(owner, *(now() for _ in range(50)))
    await owner.execute("ANALYZE audit_events")
    await owner.execute("SET enable_seqscan = off")
    page = "EXPLAIN SELECT * FROM audit_events WHERE tenant_id = $1 ORDER BY occurred_at DESC, id DESC LIMIT 20"
    plan = "\n".join(row[0] for row in await owner.fetch(page, HERE))
    assert "Sort Key" in plan
    assert plan.count("Index Scan Backward") == len(await parts(owner))
    by_id = "\n".join(
        row[0] for row in await owner.fetch("EXPLAIN SELECT FROM audit_events WHERE id = $1", id_at(now()))
    )
    assert by_id.count("Scan") == 1
    assert part_of(now()) in by_id
