"""Requests, errors and times of recent hours, counted by the service itself."""

import math
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, MutableSequence, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise

from msgspec import Struct

from application.ports.access_log import AccessLine

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""Upper bounds of the buckets of request times."""
EVERY = 60.0
"""Minimum seconds between two readings of the counters."""
READINGS = 6 * 60 + 1
"""Number of stored readings: six hours."""
ASKING = ("health.", "metrics", "system.")
"""Prefixes of monitoring operations, which the counts exclude."""

REQUESTS, ERRORS, REFUSED, BUCKETS = range(4)
SLOTS = BUCKETS + len(SECONDS) + 1


class TrafficPoint(Struct, kw_only=True):
    """Requests of the ``seconds`` that end at ``at``."""

    at: datetime
    seconds: float
    requests: int
    errors: int
    refused: int
    p50: float | None
    p99: float | None


class TrafficReport(Struct, kw_only=True):
    points: list[TrafficPoint]


class Totals(Struct, frozen=True):
    """Numbers of requests since the start: all, failed, refused by a limit, and by duration.

    A bucket in ``buckets`` counts the requests above the previous bound in SECONDS and up to its own; the last counts
    all slower requests.
    """

    requests: int
    errors: int
    refused: int
    buckets: tuple[int, ...]


class TrafficCounters:
    """Counters of this process, and with ``every`` of all processes that count together, including this one.

    Reading the counters of ``/metrics`` instead costs 13 ms, and 42 ms from the files of workers.
    """

    def __init__(
        self,
        own: MutableSequence[int] | None = None,
        every: Callable[[], Iterable[Sequence[int]]] | None = None,
    ) -> None:
        self._own = no_counts() if own is None else own
        self._every = every or (lambda: (self._own,))

    def count(self, line: AccessLine) -> None:
        own = self._own
        own[REQUESTS] += 1
        own[BUCKETS + bisect_left(SECONDS, line.took)] += 1
        if line.status >= 500:
            own[ERRORS] += 1
        elif line.status == 429:
            own[REFUSED] += 1

    def totals(self) -> Totals:
        summed = [sum(numbers) for numbers in zip(*self._every(), strict=True)]
        return Totals(summed[REQUESTS], summed[ERRORS], summed[REFUSED], tuple(summed[BUCKETS:]))


def no_counts() -> MutableSequence[int]:
    """Return the numbers of a process without requests."""
    return array("q", [0] * SLOTS)


@dataclass
class Traffic:
    """Readings of the counters.

    Requests trigger them, because a separate task would also read the counters of an idle service.

    ``now`` returns seconds since 1970.
    """

    now: Callable[[], float]
    counters: TrafficCounters = field(default_factory=TrafficCounters)
    readings: deque[tuple[float, Totals]] = field(default_factory=lambda: deque(maxlen=READINGS))
    due: float = 0.0

    def see(self, line: AccessLine) -> None:
        at = self.now()
        if at >= self.due:
            self.due = at + EVERY
            self.readings.append((at, self.counters.totals()))
        if not line.operation.startswith(ASKING):
            self.counters.count(line)

    def report(self) -> TrafficReport:
        """Return a point for each pair of consecutive readings; the last reading is made now."""
        readings = [*self.readings, (self.now(), self.counters.totals())]
        points = [_point(before, after) for before, after in pairwise(readings)]
        return TrafficReport(points=[point for point in points if point.requests])


def _point(before: tuple[float, Totals], after: tuple[float, Totals]) -> TrafficPoint:
    (began, old), (ended, new) = before, after
    # The counters of a restarted worker begin at zero, so avoid negative differences.
    buckets = [max(0, now - then) for then, now in zip(old.buckets, new.buckets, strict=True)]
    return TrafficPoint(
        at=datetime.fromtimestamp(ended, UTC),
        seconds=round(ended - began, 3),
        requests=max(0, new.requests - old.requests),
        errors=max(0, new.errors - old.errors),
        refused=max(0, new.refused - old.refused),
        p50=_quantile(buckets, 0.5),
        p99=_quantile(buckets, 0.99),
    )


def _quantile(buckets: Sequence[int], share: float) -> float | None:
    """Maximum milliseconds of ``share`` of the requests, interpolated within a bucket; None without requests.

    ``buckets`` have the upper bounds SECONDS. The last bucket has no upper bound, so the result there is its lower
    bound.
    """
    total = sum(buckets)
    if not total:
        return None
    wanted, passed = share * total, 0
    for number, (lower, upper) in zip(buckets, pairwise((0.0, *SECONDS, math.inf)), strict=True):
        if number and passed + number >= wanted:
            within = 0.0 if math.isinf(upper) else (upper - lower) * (wanted - passed) / number
            return round((lower + within) * 1_000, 3)
        passed += number
    raise AssertionError("shares are at most 1")
