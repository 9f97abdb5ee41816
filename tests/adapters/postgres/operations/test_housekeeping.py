"""Housekeeping on PostgreSQL that meets another process, and that cannot delete something."""

import asyncio
from datetime import timedelta

import pytest

from adapters.memory.cache import MemoryCache
from adapters.memory.clock import CountingIds, MovableClock
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.operations.upkeep import PostgresUpkeep
from application.operations.housekeeping import Housekeeping
from application.operations.job_results import JobResults
from domain.entities.declaration import Registry
from domain.retention import DatedRecords
from entrypoints.server.housekeeping import clean, keep_clean
from tests.adapters.postgres.schema.test_parts import (
    MONTH,
    Connection,
    Kind,
    kind,
    now,
    owner,
    records,
    url,
)
from tests.builders import LIFETIMES

__all__ = ["kind", "owner", "records", "url"]


async def test_cleaners_that_meet_drop_each_part_once(
    kind: Kind,
    records: DatedRecords,
    url: str,
    owner: Connection,
    registry: Registry,
) -> None:
    await kind.add(owner, now(), kind.next(now()), kind.next(kind.next(now())))
    upkeep = PostgresUpkeep(url, registry)
    gone = await asyncio.gather(*(upkeep.forget(records, now() + 12 * MONTH, 10) for _ in range(8)))
    assert sum(number or 0 for number in gone) == 6
    assert await kind.parts(owner) == [f"{kind.table}_rest"]


async def test_a_partition_that_cannot_be_dropped_does_not_prevent_new_partitions(
    kind: Kind,
    records: DatedRecords,
    url: str,
    owner: Connection,
    registry: Registry,
    caplog: pytest.LogCaptureFixture,
) -> None:
    later = kind.part_of(kind.next(now()))
    await owner.execute(f"DROP TABLE {later}")
    # somebody's report, without which the part cannot be dropped
    await owner.execute(f"CREATE VIEW report AS SELECT * FROM {kind.part_of(now())}")
    database = PostgresDatabase(url, registry, CountingIds(), connections=1)
    await database.open()
    housekeeping = Housekeeping(
        database,
        PostgresUpkeep(url, registry),
        MovableClock(now()),
        LIFETIMES,
        {records: -12 * MONTH},  # which is over for what was made just now
    )
    results = JobResults(MemoryCache(MovableClock(now())), MovableClock(now()))
    pauses = iter(range(2))

    async def pause(_: float) -> None:
        if next(pauses, None) is None:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await keep_clean(housekeeping, results, pause)
    await database.close()
    (cleaning, tables) = await results.latest()
    assert (cleaning.job, cleaning.has_failed, tables.job, tables.has_failed) == ("cleaning", True, "tables", False)
    assert "Housekeeping failed" in caplog.text
    assert later in await kind.parts(owner)


async def test_a_machine_with_a_clock_years_ahead_deletes_no_current_data(
    kind: Kind, records: DatedRecords, url: str, owner: Connection, registry: Registry
) -> None:
    await kind.add(owner, now())
    await owner.execute("INSERT INTO spent_ids (id, expires_at) VALUES ('x', now())")
    database = PostgresDatabase(url, registry, CountingIds(), connections=1)
    await database.open()
    upkeep, ahead = PostgresUpkeep(url, registry), MovableClock(now() + timedelta(days=3650))
    gone = await clean(Housekeeping(database, upkeep, ahead, LIFETIMES, {records: MONTH}))
    await database.close()
    assert gone == {}
    assert await kind.where(owner) == {kind.part_of(now()): 2}
