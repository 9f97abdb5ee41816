"""Admissions in memory: how much is remembered of callers."""

import tracemalloc
from datetime import timedelta

from adapters.memory.admissions import MemoryAdmissions
from adapters.memory.clock import MovableClock
from domain.limits import Hit, Limit

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


async def test_a_clock_that_is_set_back_locks_nobody_out() -> None:
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


async def test_callers_of_long_ago_are_not_kept() -> None:
    assert await held_by(taken_back=False) < 10 * CALLERS


async def test_callers_of_before_a_clock_was_set_back_are_not_kept() -> None:
    assert await held_by(taken_back=False, set_back=2 * WINDOW) < 10 * CALLERS


async def test_callers_whose_requests_were_taken_back_are_not_kept() -> None:
    assert await held_by(taken_back=True) < 10 * CALLERS


async def test_a_caller_of_a_longer_window_is_kept_for_all_of_it() -> None:
    clock = MovableClock()
    admissions = MemoryAdmissions(clock)
    for hours, is_allowed in ((0, True), (23, False), (1, True)):
        clock.move(timedelta(hours=hours))
        await admitted(admissions, f"another after {hours}")
        (verdict,) = (await admissions.admit([Hit(A_DAY, "a")], None)).verdicts
        assert verdict.allowed is is_allowed
