"""Requests, errors and times of the last hours, as a service counts them itself."""

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
"""Bounds of the times by which requests are counted."""
EVERY = 60.0
"""Seconds between two readings of the counters, where requests come."""
READINGS = 6 * 60 + 1
"""Readings that are kept: six hours of them."""
ASKING = ("health.", "metrics", "system.")
"""Beginnings of the operations that ask how the service is, which count for nothing here."""

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
    """Numbers of requests since the start: all, failed, refused by a limit, and by the time that they took.

    ``buckets`` count those within each of SECONDS that no smaller bound holds, and at last those beyond.
    """

    requests: int
    errors: int
    refused: int
    buckets: tuple[int, ...]


class TrafficCounters:
    """Counters of this process, and those of all that count together: ``every`` gives theirs, this one's among them.

    The counters of ``/metrics`` would do, but reading them takes 13 ms, and 42 ms from the files of workers.
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
    """Numbers of a process that has counted nothing yet."""
    return array("q", [0] * SLOTS)


@dataclass
class Traffic:
    """Readings of the counters, taken as requests come: a task of its own would read them of an idle service, too.

    ``now`` gives seconds since 1970.
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
        """Points between two readings, the last of which is taken now."""
        readings = [*self.readings, (self.now(), self.counters.totals())]
        points = [_point(before, after) for before, after in pairwise(readings)]
        return TrafficReport(points=[point for point in points if point.requests])


def _point(before: tuple[float, Totals], after: tuple[float, Totals]) -> TrafficPoint:
    (began, old), (ended, new) = before, after
    # counters of a worker that was restarted begin at nothing
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
    """Milliseconds that ``share`` of the requests took at most, between the bounds of its bucket; None without any.

    ``buckets`` are numbers of requests up to each of SECONDS, and beyond the last, whose lower bound stands for it.
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
