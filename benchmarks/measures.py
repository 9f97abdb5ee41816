"""Figures of a run, their medians over rounds, and the ratio that the goals are about."""

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict


class Load(Struct, frozen=True, kw_only=True):
    """Figures of a load generator; times in milliseconds."""

    requests: int
    seconds: float
    p50: float
    p99: float
    errors: int = 0


class Reading(Struct, frozen=True, kw_only=True):
    """A run against one server: requests per second, milliseconds, CPU seconds per 1,000 requests, MiB.

    ``busy`` is the share of its core that the server used; well below 1, something else was the limit.
    """

    rate: float
    p50: float
    p99: float
    cpu: float
    database_cpu: float
    busy: float
    memory: float


def reading(load: Load, *, cpu: float, database_cpu: float, memory: float) -> Reading:
    thousands = load.requests / 1000
    return Reading(
        rate=load.requests / load.seconds,
        p50=load.p50,
        p99=load.p99,
        cpu=cpu / thousands,
        database_cpu=database_cpu / thousands,
        busy=cpu / load.seconds,
        memory=memory,
    )


def medians(readings: Sequence[Reading]) -> Reading:
    """The median of each figure by itself."""
    rounds = [asdict(measured) for measured in readings]
    return Reading(**{name: median(values[name] for values in rounds) for name in rounds[0]})


class Pair(Struct, frozen=True):
    """A round of an operation: both servers, one right after the other."""

    baseline: Reading
    service: Reading


class Row(Struct, frozen=True, kw_only=True):
    """Figures of an operation over all rounds; ratios are of pairs, so that drift of the machine cancels out."""

    name: str
    title: str
    goal: float | None
    baseline: Reading
    service: Reading
    ratio: float
    lowest: float
    highest: float
    p99_ratio: float

    @property
    def reached(self) -> bool:
        return self.goal is None or (self.ratio >= self.goal and self.p99_ratio <= SLOWEST_P99)


SLOWEST_P99 = 2.5
"""Greatest ratio of the service's 99th percentile to the baseline's."""


def row(name: str, title: str, goal: float | None, pairs: Sequence[Pair]) -> Row:
    ratios = _of(pairs, lambda reading: reading.rate)
    return Row(
        name=name,
        title=title,
        goal=goal,
        baseline=medians([pair.baseline for pair in pairs]),
        service=medians([pair.service for pair in pairs]),
        ratio=median(ratios),
        lowest=min(ratios),
        highest=max(ratios),
        p99_ratio=median(_of(pairs, lambda reading: reading.p99)),
    )


def _of(pairs: Sequence[Pair], figure: Callable[[Reading], Any]) -> list[float]:
    return [figure(pair.service) / figure(pair.baseline) for pair in pairs]


def percentile(ordered: Sequence[float], share: float) -> float:
    """A measured value, by the nearest-rank method."""
    return ordered[max(0, -(-len(ordered) * round(share * 100) // 10_000) - 1)]
