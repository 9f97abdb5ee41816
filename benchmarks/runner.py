"""Order of a benchmark: rounds over all operations on both servers, then growing sizes."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from benchmarks.bench import Bench, Timing, opened
from benchmarks.bench_data import Size
from benchmarks.failures import BenchmarkFailed
from benchmarks.growth import ENTITIES, ROWS, TENANTS, Step, by_connections, by_size
from benchmarks.measures import Pair, Reading, Row, medians, row
from benchmarks.operations import Operation

Urls = tuple[str, str]


class Plan(Struct, frozen=True, kw_only=True):
    size: Size
    timing: Timing
    rounds: int
    operations: Sequence[Operation]
    grows: bool
    reports: bool


class Footprint(Struct, frozen=True):
    """Seconds from a server's start until it is ready, and MiB before its first load."""

    name: str
    ready_in: float
    idle: float


@dataclass
class Results:
    """Results of a benchmark.

    ``pairs`` and ``alone`` are by the operation's name; ``failures`` are sentences, and make the whole run fail.
    """

    pairs: dict[str, list[Pair]] = field(default_factory=dict)
    alone: dict[str, list[Reading]] = field(default_factory=dict)
    footprints: list[Footprint] = field(default_factory=list)
    steps: dict[str, list[Step]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def rows(self, operations: Sequence[Operation]) -> list[Row]:
        return [
            row(operation.name, operation.title, operation.goal, self.pairs[operation.name])
            for operation in operations
            if operation.name in self.pairs
        ]

    def alone_rows(self, operations: Sequence[Operation]) -> list[tuple[str, Reading]]:
        return [
            (operation.title, medians(self.alone[operation.name]))
            for operation in operations
            if operation.name in self.alone
        ]


async def carry_out(plan: Plan, urls: Urls) -> Results:
    results = Results()
    started = time.monotonic()
    async with opened(*urls, plan.size, plan.timing) as bench:
        results.footprints = [Footprint(server.name, server.ready_in, server.idle) for server in bench.servers]
        print(f"prepared in {time.monotonic() - started:.0f} s", flush=True)
        for number in range(plan.rounds):
            await _round(bench, plan.operations, number, results)
        if plan.grows:
            results.steps["connections"] = await by_connections(bench)
    if plan.grows:
        results.steps["rows"] = await by_size(urls, plan.timing, ROWS, "rows")
        results.steps["tenants"] = await by_size(urls, plan.timing, TENANTS, "tenants")
        results.steps["entities"] = await by_size(urls, plan.timing, ENTITIES, "entities")
    return results


async def _round(bench: Bench, operations: Sequence[Operation], number: int, results: Results) -> None:
    for operation in operations:
        if operation.name in results.failures:
            continue
        try:
            await _measure(bench, operation, number, results)
        except BenchmarkFailed as failure:
            results.failures[operation.name] = str(failure)
            print(f"round {number + 1}: {operation.title}: FAILED", flush=True)


async def _measure(bench: Bench, operation: Operation, number: int, results: Results) -> None:
    if operation.on_baseline:
        pair = await bench.pair(operation, baseline_first=number % 2 == 0)
        results.pairs.setdefault(operation.name, []).append(pair)
        print(f"round {number + 1}: {operation.title}: {pair.service.rate / pair.baseline.rate:.2f}", flush=True)
    else:
        reading = await bench.run(operation, bench.service)
        results.alone.setdefault(operation.name, []).append(reading)
        print(f"round {number + 1}: {operation.title}: {reading.rate:,.0f}/s", flush=True)
