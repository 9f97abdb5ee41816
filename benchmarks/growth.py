"""Figures as rows, tenants, entities and connections grow."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.bench import Bench, Timing, opened
from benchmarks.bench_data import Size
from benchmarks.measures import Reading
from benchmarks.operations import MAIN, Operation

GROWING = tuple(operation for operation in MAIN if operation.name in ("get", "page", "create", "update"))
ROWS = tuple(Size(rows=rows) for rows in (20_000, 200_000, 2_000_000))
TENANTS = tuple(Size(tenants=tenants) for tenants in (10, 100, 1_000))
ENTITIES = tuple(Size(entities=entities) for entities in (5, 100))
CONNECTIONS = (1, 8, 64)


class Step(Struct, frozen=True):
    """Figures of an operation at one size."""

    operation: str
    amount: int
    baseline: Reading
    service: Reading


async def by_size(urls: tuple[str, str], timing: Timing, sizes: Sequence[Size], what: str) -> list[Step]:
    """Figures as the field ``what`` of the size grows."""
    steps = []
    for size in sizes:
        async with opened(*urls, size, timing) as bench:
            steps += [await _step(bench, operation, getattr(size, what)) for operation in GROWING]
    return steps


async def by_connections(bench: Bench) -> list[Step]:
    return [
        await _step(bench, replace(operation, connections=connections), connections)
        for connections in CONNECTIONS
        for operation in GROWING
    ]


async def _step(bench: Bench, operation: Operation, amount: int) -> Step:
    pair = await bench.pair(operation, baseline_first=True)
    print(f"  {operation.title} at {amount:,}: {pair.service.rate:,.0f}/s, {pair.service.p50:.2f} ms", flush=True)
    return Step(operation.title, amount, pair.baseline, pair.service)
