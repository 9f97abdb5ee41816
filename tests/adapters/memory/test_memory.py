"""Admissions in memory: how much is remembered of callers.

What the memory database promises beyond the contracts: a switch for outages, and transactions in a row.

The memory adapter takes large files: the time of an import grows with its rows, not with their square.
"""

import asyncio
import time
import tracemalloc
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from adapters.memory.admissions import MemoryAdmissions
from adapters.memory.clock import CountingIds, MovableClock
from adapters.memory.database import MemoryDatabase
from application.ports.entities.files import Loading
from application.ports.entities.records import Act
from domain.entities.declaration import Registry
from domain.entities.files.csv_rows import written
from domain.errors import ServiceUnavailable
from domain.limits import Hit, Limit
from domain.scope import EveryTenant, OneTenant
from tests.builders import NOW, new_id

WINDOW = timedelta(seconds=10)
ONCE = Limit("once", 1, WINDOW)
A_DAY = Limit("a day", 1, timedelta(days=1))
CALLERS = 20_000


async def admitted(admissions: MemoryAdmissions, caller: str) -> bool:
    (verdict,) = (await admissions.admit([Hit(ONCE, caller)], None)).verdicts
    return verdict.allowed


async def test_beyond_the_most_requests_the_caller_not_seen_for_longest_is_forgotten() -> None:
    admissions = MemoryAdmissions(MovableClock(), most_requests=2)
    assert [await admitted(admissions, caller) for caller in ("a", "b", "a", "c")] == [True, True, False, True]
    assert not await admitted(admissions, "a"), "seen after b"
    assert await admitted(admissions, "b"), "forgotten"


async def test_a_request_that_is_taken_back_makes_room_for_one() -> None:
    admissions = MemoryAdmissions(MovableClock(), most_requests=2)
    assert await admitted(admissions, "a")
    await admissions.recount([Hit(ONCE, "a")], [Hit(ONCE, "b")])
    assert await admitted(admissions, "a")
    assert await admitted(admissions, "c")
    assert await admitted(admissions, "b"), "there is no room for three"


async def test_a_request_that_left_its_window_makes_room_for_one() -> None:
    clock = MovableClock()
    admissions = MemoryAdmissions(clock, most_requests=2)
    assert await admitted(admissions, "a")
    clock.move(WINDOW)
    assert [await admitted(admissions, caller) for caller in ("a", "b")] == [True, True]
    assert not await admitted(admissions, "a"), "there is room for both"
    assert await admitted(admissions, "c")
    assert not await admitted(admissions, "a")
    assert await admitted(admissions, "b"), "there is no room for three"


async def test_a_clock_that_is_set_back_locks_no_caller_out() -> None:
    clock = MovableClock()
    admissions = MemoryAdmissions(clock)
    assert await admitted(admissions, "a")
    clock.move(-timedelta(hours=1))
    assert [await admitted(admissions, "a") for _ in range(2)] == [True, False]


async def held_by(*, taken_back: bool, set_back: timedelta = timedelta()) -> int:
    """Bytes that are held after days in which each request was of another caller."""
    clock = MovableClock()
    admissions = MemoryAdmissions(clock)
    # whose window is a day, and who comes first: the others do not wait for it
    await admissions.admit([Hit(A_DAY, "a")], None)
    tracemalloc.start()
    for number in range(CALLERS):
        hit = Hit(ONCE, f"user:{number}")
        await admissions.admit([hit], None)
        if taken_back:
            await admissions.recount([hit], ())
        else:
            clock.move(WINDOW - set_back)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held


async def test_callers_with_expired_windows_are_removed_from_memory() -> None:
    assert await held_by(taken_back=False) < 10 * CALLERS


async def test_callers_from_before_a_clock_was_set_back_are_removed_from_memory() -> None:
    assert await held_by(taken_back=False, set_back=2 * WINDOW) < 10 * CALLERS


async def test_callers_with_refunded_requests_are_removed_from_memory() -> None:
    assert await held_by(taken_back=True) < 10 * CALLERS


async def test_a_caller_with_a_longer_window_is_counted_for_the_whole_window() -> None:
    clock = MovableClock()
    admissions = MemoryAdmissions(clock)
    for hours, is_allowed in ((0, True), (23, False), (1, True)):
        clock.move(timedelta(hours=hours))
        await admitted(admissions, f"another after {hours}")
        (verdict,) = (await admissions.admit([Hit(A_DAY, "a")], None)).verdicts
        assert verdict.allowed is is_allowed


SUBJECT = "user:ada"


async def count(database: MemoryDatabase) -> int:
    async with database.read_only(EveryTenant()) as read:
        return (await read.token_versions.of([SUBJECT]))[SUBJECT]


async def test_while_it_is_down_nothing_is_read_or_written(memory: MemoryDatabase) -> None:
    memory.down = True
    with pytest.raises(ServiceUnavailable):
        await count(memory)
    with pytest.raises(ServiceUnavailable):
        async with memory.transaction(EveryTenant()):
            pytest.fail("a transaction began")
    assert not await memory.is_ready()
    memory.down = False
    assert await count(memory) == 0
    assert await memory.is_ready()


async def test_a_change_that_could_not_be_committed_is_not_stored(memory: MemoryDatabase) -> None:
    async def raise_and_fail() -> None:
        async with memory.transaction(EveryTenant()) as tx:
            await tx.token_versions.bump([SUBJECT])
            memory.down = True

    with pytest.raises(ServiceUnavailable):
        await raise_and_fail()
    memory.down = False
    assert await count(memory) == 0


async def test_statements_on_their_own_wait_for_transactions(memory: MemoryDatabase) -> None:
    begun = asyncio.Event()

    async def alone() -> None:
        await begun.wait()
        async with memory.autocommit(EveryTenant()) as tx:
            await tx.token_versions.bump([SUBJECT])

    async def together() -> None:
        async with memory.transaction(EveryTenant()) as tx:
            begun.set()
            for _ in range(10):
                await asyncio.sleep(0)
                await tx.token_versions.bump([SUBJECT])

    await asyncio.gather(alone(), together())
    assert await count(memory) == 11


HERE = OneTenant(new_id())
FEW, MANY = 1_000, 8_000
MOST = 24
"""Times the CPU time of few rows that many may take: 8 by their number, 64 by its square."""


async def lines(rows: int, *, is_upsert: bool) -> AsyncIterator[bytes]:
    for number in range(rows):
        own = ["111111111", None, None] if is_upsert else []
        cells = ["A", f"SKU-{number}", None, "1", str(number), "draft", None, None, None]
        yield written([str(number + 2), str(new_id()), *own, *cells]).encode()


@pytest.mark.parametrize("key", [None, "sku"])
async def test_the_duration_of_an_import_grows_linearly_with_its_rows(registry: Registry, key: str | None) -> None:
    few = min([await seconds(registry, key, FEW) for _ in range(3)])
    assert await seconds(registry, key, MANY) < MOST * few


async def seconds(registry: Registry, key: str | None, rows: int) -> float:
    database, products, began = MemoryDatabase(registry, CountingIds()), registry["products"], time.process_time()
    loading = Loading(Act(by=new_id(), at=NOW), products.by_name[key] if key else None)
    for imported in (rows, rows if key else 0):
        async with database.transaction(HERE) as tx:
            loaded = await tx.transfers.load(products, lines(rows, is_upsert=key is not None), loading)
        assert (loaded.imported, loaded.imported + loaded.skipped, list(loaded.errors)) == (imported, rows, [])
    return time.process_time() - began
