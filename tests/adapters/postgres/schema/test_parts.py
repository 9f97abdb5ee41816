"""Parts of the audit trail and of histories by month: made ahead, closed to the service, and dropped whole."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

import asyncpg
import pytest

from adapters.postgres.entities.history import page_statement
from adapters.postgres.operations.parts import delete_statement, forget, make_parts
from adapters.postgres.operations.retention import statement_of
from adapters.postgres.operations.upkeep import PostgresUpkeep
from adapters.postgres.schema.parts import BY_TABLE, IN_PARTS, InParts
from adapters.postgres.schema.row_security import ONLY_EVERY, ROLE
from domain.entities.declaration import Registry
from domain.parts.composition import RETENTION
from domain.retention import DatedRecords, RetentionRule
from tests.conftest import NewDatabase
from tests.waiting import HUNG_AFTER

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]
else:  # generic in its stubs alone
    Connection = asyncpg.Connection

HERE, THERE = uuid4(), uuid4()
PARTS = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = $1::text::regclass ORDER BY 1"
TENANT = """
INSERT INTO tenants (id, name, identifier, created_at, settings)
SELECT id, id::text, id::text, now(), '{}' FROM unnest($1::uuid[]) id"""
EVENT = "INSERT INTO audit_events (tenant_id, id, action, occurred_at) VALUES ($1, $2, 'made', $3)"
LINE = """
INSERT INTO row_history (tenant_id, row_id, entity, version, action, at, changes)
VALUES ($1, $2, 'books', 1, 'created', $3, '[]')"""
CHANGE = """
INSERT INTO changes (tenant_id, row_id, entity, version, action, at, position, sequenced_at)
VALUES ($1, $2, 'books', 1, 'created', $3, 1, $3)"""
MANY_LINES = """
INSERT INTO row_history (tenant_id, row_id, entity, version, action, at, changes)
SELECT $1, gen_random_uuid(), 'books', 1, 'created', $2::timestamptz + n * interval '1 minute', '[]'
FROM generate_series(1, 50000) n"""
POLICIES = """
SELECT tablename::text, policyname::text, cmd, permissive, roles::text, qual, with_check FROM pg_policies
WHERE tablename = ANY ($1::text[])"""
OF_TABLE = {
    "audit_events": {("tenant_rows", "ALL")},
    "row_history": {("tenant_rows", "ALL"), ("shared_rows", "SELECT"), ("added_rows", "INSERT")},
    "changes": {
        ("tenant_rows", "ALL"),
        ("shared_rows", "SELECT"),
        *((f"every_{command.lower()}", command) for command in ("INSERT", "UPDATE", "DELETE")),
    },
}
MONTH = timedelta(days=31)


def id_at(moment: datetime) -> UUID:
    """A UUIDv7 of the moment."""
    return UUID(int=int(moment.timestamp() * 1000) << 80 | 0x7 << 76 | uuid4().int & (1 << 64) - 1)


def now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Kind:
    """A table in parts, and the statement that adds a row of a tenant, with an id of its moment."""

    parted: InParts
    adding: str

    @property
    def table(self) -> str:
        return self.parted.table

    def part_of(self, moment: datetime) -> str:
        return f"{self.table}_{moment:%Y%m}" + (f"{moment:%d}" if self.parted.every == "day" else "")

    def next(self, moment: datetime) -> datetime:
        """The begin of the next part."""
        midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
        if self.parted.every == "day":
            return midnight + timedelta(days=1)
        return (midnight.replace(day=1) + MONTH).replace(day=1)

    async def add(self, owner: Connection, *moments: datetime) -> None:
        """A row of each moment in each of two tenants."""
        await owner.executemany(self.adding, [(tenant, id_at(at), at) for at in moments for tenant in (HERE, THERE)])

    async def parts(self, owner: Connection) -> list[str]:
        return [row[0] for row in await owner.fetch(PARTS, self.table)]

    async def where(self, owner: Connection) -> dict[str, int]:
        """The number of rows in each part that has some."""
        rows = await owner.fetch(f"SELECT tableoid::regclass::text, count(*) FROM {self.table} GROUP BY 1")
        return {row[0]: row[1] for row in rows}


KINDS = {
    DatedRecords.EVENTS: Kind(IN_PARTS[DatedRecords.EVENTS], EVENT),
    DatedRecords.HISTORIES: Kind(IN_PARTS[DatedRecords.HISTORIES], LINE),
    DatedRecords.CHANGES: Kind(IN_PARTS[DatedRecords.CHANGES], CHANGE),
}


EVENTS, LINES = KINDS[DatedRecords.EVENTS], KINDS[DatedRecords.HISTORIES]


@pytest.fixture(params=DatedRecords, ids=lambda records: records.name)
def records(request: pytest.FixtureRequest) -> DatedRecords:
    found: DatedRecords = request.param
    return found


@pytest.fixture
def kind(records: DatedRecords) -> Kind:
    return KINDS[records]


@pytest.fixture
async def url(new_database: NewDatabase) -> str:
    return await new_database()


@pytest.fixture
async def owner(url: str) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(url, server_settings={"tenantry.scope": "every"})
    await connection.execute(TENANT, [HERE, THERE])
    yield connection
    await connection.close()


@pytest.fixture
async def service(url: str) -> AsyncIterator[Connection]:
    """The role of the service, in the scope of one tenant."""
    connection = await asyncpg.connect(url, server_settings={"role": ROLE, "tenantry.scope": str(HERE)})
    yield connection
    await connection.close()


async def test_records_are_stored_in_the_partition_of_their_month_or_the_default(
    kind: Kind,
    owner: Connection,
) -> None:
    later = kind.next(now())
    await kind.add(owner, now(), later, now() - timedelta(days=800))
    assert await kind.where(owner) == {kind.part_of(now()): 2, kind.part_of(later): 2, f"{kind.table}_rest": 2}


@pytest.mark.promise("scale, growth: Parts keep tenants apart, and the service reaches none itself")
async def test_each_tenant_sees_only_its_records_in_every_partition(
    kind: Kind, owner: Connection, service: Connection
) -> None:
    await kind.add(owner, now(), kind.next(now()), now() - timedelta(days=800))
    found = await service.fetch(f"SELECT tenant_id, tableoid FROM {kind.table}")
    assert {row["tenant_id"] for row in found} == {HERE}
    assert len({row["tableoid"] for row in found}) == len(found) == 3
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="row-level security"):
        await service.execute(kind.adding, THERE, id_at(now()), now())
    if kind.table in ONLY_EVERY:
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match="row-level security"):
            await service.execute(kind.adding, HERE, id_at(now()), now())
        return
    await service.execute(kind.adding, HERE, id_at(now()), now())


@pytest.mark.promise("scale, growth: Parts keep tenants apart, and the service reaches none itself")
async def test_the_service_reaches_no_part_itself(kind: Kind, owner: Connection, service: Connection) -> None:
    await owner.execute(f"DROP TABLE {kind.part_of(kind.next(now()))}")
    await make_parts(owner, kind.parted)
    names = await kind.parts(owner)
    assert kind.part_of(kind.next(now())) in names
    for name in names:
        for statement in (f"SELECT FROM {name}", f"DELETE FROM {name}", f"INSERT INTO {name} DEFAULT VALUES"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await service.execute(statement)
        security = "SELECT relrowsecurity AND relforcerowsecurity FROM pg_class WHERE oid = $1::text::regclass"
        assert await owner.fetchval(security, name)
    # a backup by an owner without rights of its own reads each part by its policies
    policies = await owner.fetch(POLICIES, [kind.table, *names])
    assert {(kind.table, *policy) for policy in OF_TABLE[kind.table]} == {
        (row["tablename"], row["policyname"], row["cmd"]) for row in policies if row["tablename"] == kind.table
    }
    found = {name: {tuple(row)[1:] for row in policies if row["tablename"] == name} for name in (kind.table, *names)}
    assert all(own == found[kind.table] for own in found.values())


@pytest.mark.promise("scale, growth: Parts are made ahead, once, and no event or line is refused without one")
async def test_ten_processes_make_the_same_parts_once(kind: Kind, url: str, owner: Connection) -> None:
    before = await kind.parts(owner)
    for name in before:
        if name != f"{kind.table}_rest":
            await owner.execute(f"DROP TABLE {name}")
    connections = [await asyncpg.connect(url) for _ in range(10)]
    await asyncio.gather(*(make_parts(connection, kind.parted) for connection in connections))
    for connection in connections:
        await connection.close()
    assert await kind.parts(owner) == before


@pytest.mark.promise("scale, growth: Parts are made ahead, once, and no event or line is refused without one")
async def test_a_month_with_records_in_the_default_partition_gets_no_partition_of_its_name(
    kind: Kind,
    owner: Connection,
) -> None:
    await owner.execute(f"DROP TABLE {kind.part_of(now())}")
    await kind.add(owner, now())
    await make_parts(owner, kind.parted)
    assert kind.part_of(now()) not in await kind.parts(owner)
    await kind.add(owner, now())
    assert await kind.where(owner) == {f"{kind.table}_rest": 4}


@pytest.mark.promise(
    "scale, growth: the audit trail and histories are dropped by the month, and no reader waits long for it"
)
async def test_an_expired_partition_is_dropped_and_newer_ones_remain(
    kind: Kind, records: DatedRecords, url: str, owner: Connection, registry: Registry
) -> None:
    later = kind.next(now())
    await kind.add(owner, now(), now(), later)
    upkeep = PostgresUpkeep(url, registry)
    assert await upkeep.forget(records, later - timedelta(milliseconds=1), 1) == 0
    assert await upkeep.forget(records, later, 1) == 4
    assert kind.part_of(now()) not in await kind.parts(owner)
    assert await kind.where(owner) == {kind.part_of(later): 2}
    assert await upkeep.forget(records, later, 1) == 0


async def test_records_in_no_month_are_deleted_one_by_one(kind: Kind, owner: Connection) -> None:
    old = now() - timedelta(days=800)
    await kind.add(owner, old, old + timedelta(days=1), old + timedelta(days=3), now())
    before = old + timedelta(days=1)
    assert [await forget(owner, kind.parted, before, 3) for _ in range(3)] == [3, 1, 0]
    assert await kind.where(owner) == {f"{kind.table}_rest": 2, kind.part_of(now()): 2}


@pytest.mark.promise(
    "scale, growth: the audit trail and histories are dropped by the month, and no reader waits long for it"
)
async def test_dropping_a_partition_gives_up_quickly_while_a_reader_blocks_it(
    kind: Kind, url: str, owner: Connection, service: Connection
) -> None:
    await kind.add(owner, now())
    cleaner = await asyncpg.connect(url, server_settings={"tenantry.scope": "every"})
    async with service.transaction():
        assert len(await service.fetch(f"SELECT FROM {kind.table}")) == 1
        # somebody who is not patient waits behind the drop, and is served when it has given up
        forgetting = asyncio.create_task(forget(cleaner, kind.parted, kind.next(now()), 10))
        async with asyncio.timeout(HUNG_AFTER):
            await kind.add(owner, now())
            assert await forgetting == 0
    assert kind.part_of(now()) in await kind.parts(owner)
    assert await forget(cleaner, kind.parted, kind.next(now()), 10) == 4
    await cleaner.close()


@pytest.mark.parametrize("rule", RETENTION, ids=lambda rule: rule.name)
def test_no_rule_of_the_service_deletes_by_place_in_a_table_in_parts(rule: RetentionRule) -> None:
    """Rows of two parts may have the same place (``ctid``): only in a part by itself does it tell one row."""
    assert not [table for table in BY_TABLE if f"DELETE FROM {table} " in statement_of(rule).text]


async def test_a_page_reads_one_index_per_partition_and_an_event_reads_one_partition(
    owner: Connection,
) -> None:
    await EVENTS.add(owner, *(now() for _ in range(50)))
    await owner.execute("ANALYZE audit_events")
    await owner.execute("SET enable_seqscan = off")
    page = "EXPLAIN SELECT * FROM audit_events WHERE tenant_id = $1 ORDER BY occurred_at DESC, id DESC LIMIT 20"
    plan = "\n".join(row[0] for row in await owner.fetch(page, HERE))
    assert "Sort Key" in plan
    assert plan.count("Index Scan Backward") == len(await EVENTS.parts(owner))
    by_id = "\n".join(
        row[0] for row in await owner.fetch("EXPLAIN SELECT FROM audit_events WHERE id = $1", id_at(now()))
    )
    assert by_id.count("Scan") == 1
    assert EVENTS.part_of(now()) in by_id


async def test_the_plan_of_a_page_of_a_history_reads_one_index_for_each_part_and_sorts_nothing(
    owner: Connection,
) -> None:
    await LINES.add(owner, *(now() for _ in range(50)))
    await owner.execute("ANALYZE row_history")
    await owner.execute("SET enable_seqscan = off")
    statement = page_statement("tenant")
    arguments = statement.arguments({"tenant": HERE, "entity": "books", "row": uuid4(), "size": 20, "offset": 0})
    plan = "\n".join(row[0] for row in await owner.fetch(f"EXPLAIN {statement.text}", *arguments))
    assert "Merge Append" in plan
    assert plan.count("Index Scan Backward") == len(await LINES.parts(owner))
    assert "->  Sort" not in plan


async def test_lines_of_rows_without_a_tenant_are_added_and_read_in_every_part(
    owner: Connection, service: Connection
) -> None:
    for at in (now(), LINES.next(now()), now() - timedelta(days=800)):
        await service.execute(LINE, None, uuid4(), at)
    assert len(await service.fetch("SELECT FROM row_history")) == len(await LINES.where(owner)) == 3


async def test_old_entries_in_the_default_partition_are_found_by_a_block_range_index(owner: Connection) -> None:
    """Of a large part that is not over, only what is past the retention is read."""
    old = now() - timedelta(days=800)
    await owner.execute(MANY_LINES, HERE, old)
    await owner.execute("VACUUM ANALYZE row_history_rest")
    statement = delete_statement(LINES.parted, "row_history_rest")
    arguments = statement.arguments({"before": old + timedelta(minutes=100), "most": 10_000})
    explained = f"EXPLAIN (ANALYZE, FORMAT JSON) {statement.text}"
    (row,) = await owner.fetch(explained, *arguments)
    assert "ix_row_history_at" in row[0] or "at_idx" in row[0]
    assert await forget(owner, LINES.parted, old + timedelta(minutes=200), 1_000) == 100
