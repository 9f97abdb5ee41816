"""Clock and ids: times are aware and in UTC, ids sort in the order of their creation."""

from datetime import UTC, timedelta

import pytest

from adapters.memory.clock import CountingIds, MovableClock
from adapters.system import SystemClock, Uuid7Ids
from application.ports.clock import Clock, Ids


@pytest.mark.parametrize("clock", [SystemClock(), MovableClock()])
def test_a_clock_is_in_utc_and_never_goes_back(clock: Clock) -> None:
    times = [clock.now() for _ in range(100)]
    assert times == sorted(times)
    assert {time.tzinfo for time in times} == {UTC}


@pytest.mark.parametrize("ids", [Uuid7Ids(), CountingIds()])
def test_ids_are_uuids_of_version_7_and_later_ones_sort_after_earlier_ones(ids: Ids) -> None:
    made = [ids.new() for _ in range(10_000)]
    assert made == sorted(set(made))
    assert {(new_id.version, new_id.variant) for new_id in made} == {(7, "specified in RFC 4122")}


def test_a_movable_clock_moves_as_it_is_told() -> None:
    clock = MovableClock()
    before = clock.now()
    clock.move(timedelta(hours=1))
    assert clock.now() - before == timedelta(hours=1)


def test_counting_ids_are_the_same_at_every_run() -> None:
    assert CountingIds().new() == CountingIds().new()
