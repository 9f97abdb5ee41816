"""Migrations that put a table into parts, stopped at any moment: the service writes on, and the next run ends them."""

from datetime import datetime, timedelta

import asyncpg
import pytest

from adapters.postgres.migrations.commands import LockPatience
from adapters.postgres.migrations.migrate import upgrade
from adapters.postgres.migrations.pending import MigrationRefused, pending
from adapters.postgres.schema.parts import bound
from domain.entities.declaration import Registry
from domain.errors import ServiceUnavailable
from domain.retention import DatedRecords
from tests.adapters.postgres.conftest import DatabaseAt
from tests.adapters.postgres.test_parts import HERE, KINDS, TENANT, THERE, Connection, Kind, next_month, now

BEFORE = {DatedRecords.EVENTS: "0069", DatedRecords.HISTORIES: "0073"}
# ends the connection of a migration at the end of one of the commands on the table; the sequence counts them, and keeps
# its value when they are rolled back
STOPPING = """
CREATE SEQUENCE commands;
CREATE FUNCTION stop() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity LIKE '%{table}%')
        AND nextval('commands') = current_setting('test.stopped_at', true)::int
    THEN
        PERFORM pg_terminate_backend(pg_backend_pid());
    END IF;
END
$$;
CREATE EVENT TRIGGER stopping ON ddl_command_end EXECUTE FUNCTION stop()"""
BOUNDS = "SELECT count(*) FROM pg_constraint WHERE conname = $1 || '_bound'"


@pytest.fixture(params=DatedRecords, ids=lambda records: records.name)
def records(request: pytest.FixtureRequest) -> DatedRecords:
    found: DatedRecords = request.param
    return found


@pytest.fixture
def kind(records: DatedRecords) -> Kind:
    return KINDS[records]


@pytest.fixture
async def url(database_at: DatabaseAt, records: DatedRecords) -> str:
    """A database from before its records lay in parts."""
    return await database_at(BEFORE[records])


async def opened(url: str) -> Connection:
    owner = await asyncpg.connect(url, server_settings={"tenantry.scope": "every"})
    await owner.execute(TENANT, [HERE, THERE])
    return owner


async def test_a_migration_that_is_stopped_at_any_command_refuses_no_record_and_is_ended_by_the_next(
    kind: Kind, url: str, registry: Registry
) -> None:
    owner = await opened(url)
    await kind.add(owner, now())
    await owner.execute(STOPPING.format(table=kind.table))
    database = await owner.fetchval("SELECT quote_ident(current_database())")
    stopped = 0
    while True:
        await owner.execute("SELECT setval('commands', 1, false)")
        await owner.execute(f"ALTER DATABASE {database} SET test.stopped_at = {stopped + 1}")
        try:
            assert await upgrade(url, registry) == []
            break
        except ServiceUnavailable:
            stopped += 1
            await kind.add(owner, now(), next_month(now()))
    assert stopped > 5
    assert await pending(url, registry) == []
    assert await owner.fetchval(BOUNDS, kind.table) == 0
    assert sum((await kind.where(owner)).values()) == 2 + 4 * stopped
    later = next_month(next_month(now()))
    await kind.add(owner, later)
    assert (await kind.where(owner))[kind.part_of(later)] == 2
    await owner.close()


async def test_a_bound_that_has_come_near_since_it_was_left_is_made_anew(
    kind: Kind, url: str, registry: Registry
) -> None:
    """As after a run that was stopped a month ago."""
    owner = await opened(url)
    await kind.add(owner, now())
    near = await shown_bound(owner, kind, next_month(now()))
    check = f"ADD CONSTRAINT {kind.table}_bound CHECK ({kind.parted.key} < '{near}')"
    await owner.execute(f"ALTER TABLE {kind.table} {check} NOT VALID")
    with pytest.raises(asyncpg.CheckViolationError):
        await kind.add(owner, next_month(now()))
    assert await upgrade(url, registry) == []
    await kind.add(owner, next_month(now()))
    assert await kind.where(owner) == {f"{kind.table}_old": 4}
    await owner.close()


async def test_a_bound_that_stays_because_the_table_is_in_use_hides_no_row_behind_it(
    kind: Kind, url: str, registry: Registry
) -> None:
    owner, reader = await opened(url), await asyncpg.connect(url)
    await kind.add(owner, now(), now() + timedelta(days=200))
    # as after a run that was stopped
    month = next_month(next_month(now()))
    check = f"ADD CONSTRAINT {kind.table}_bound CHECK ({kind.parted.key} < '{await shown_bound(owner, kind, month)}')"
    await owner.execute(f"ALTER TABLE {kind.table} {check} NOT VALID")
    async with reader.transaction():
        await reader.execute(f"SELECT FROM {kind.table}")
        with pytest.raises(MigrationRefused, match=f"{kind.table}_bound"):
            await upgrade(url, registry, patience=LockPatience(seconds=0.02, pause=0, tries=1))
    assert await owner.fetchval(BOUNDS, kind.table) == 1
    # the next run takes it away
    with pytest.raises(MigrationRefused, match=f"{kind.table}_bound"):
        await upgrade(url, registry)
    assert await owner.fetchval(BOUNDS, kind.table) == 0
    await reader.close()
    await owner.close()


async def shown_bound(owner: Connection, kind: Kind, moment: datetime) -> str:
    expression = bound(kind.parted, f"timestamp '{moment:%Y-%m-%d}'")
    shown: str = await owner.fetchval(f"SELECT ({expression})::text")
    return shown
