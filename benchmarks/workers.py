"""``python -m benchmarks.workers``: what a second worker brings where the databases have cores of their own.

On a machine whose cores are all in use, a second worker has nothing to run on. So each process of the service is held
to a quarter of a core: what is left serves the databases and the load, and the workers' own CPU is the only limit, as
on a machine with more cores. Where processes cannot be held (that takes root's rights on Linux), the ratio follows
from the CPU of a request and from how evenly the workers share the load.
"""

import argparse
import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from statistics import median

from msgspec import Struct

from benchmarks import rows, wrk
from benchmarks.bench_data import Size
from benchmarks.databases import Database, database, servers
from benchmarks.operations import MAIN, ME, Operation
from benchmarks.people import make_people, tokens
from benchmarks.processes import tree
from benchmarks.quotas import held
from benchmarks.servers import Server, service
from benchmarks.turns import Turn, run_turn

GOAL = 1.9
"""Times the rate of one worker."""

SHARE = 0.25
"""Of a core, for each worker: two of them leave three quarters of a machine with two cores to everything else."""

SIZE = Size(rows=20_000, tenants=2)
GET = next(operation for operation in MAIN if operation.name == "get")
OPERATIONS: Sequence[Operation] = (GET, ME)


class Run(Struct, frozen=True):
    """A run under load; ``is_held`` tells whether each process had only its share of a core."""

    turn: Turn
    is_held: bool

    @property
    def rate(self) -> float:
        """Requests a second: as counted, or until the busiest process has used a whole core."""
        return self.turn.counted if self.is_held else self.turn.rate


async def main(turns: int, seconds: float) -> bool:
    """Prints a line for each operation; False where a ratio misses the goal."""
    wrk.ensure_wrk()
    read: dict[tuple[str, int], list[Run]] = {}
    async with servers() as (database_url, redis_url):
        for turn in range(turns):
            for workers in (1, 2) if turn % 2 == 0 else (2, 1):
                async with database(database_url, f"tenantry_workers_{os.getpid()}") as data:
                    with service(data.url, redis_url, workers=workers) as server:
                        for name, taken in [pair async for pair in _runs(server, data, workers, seconds)]:
                            read.setdefault((name, workers), []).append(taken)
    ratios = [_ratio(read[operation.name, 1], read[operation.name, 2]) for operation in OPERATIONS]
    for operation, ratio in zip(OPERATIONS, ratios, strict=True):
        print(_line(operation, read[operation.name, 1], read[operation.name, 2], ratio))
    return min(ratios) >= GOAL


def _ratio(single: Sequence[Run], double: Sequence[Run]) -> float:
    """Median over the turns, whose halves follow one another and so met the same machine."""
    return median(after.rate / before.rate for before, after in zip(single, double, strict=True))


def _line(operation: Operation, single: Sequence[Run], double: Sequence[Run], ratio: float) -> str:
    how = f"with {SHARE} of a core for each worker" if single[0].is_held else "by the CPU of the busier worker"
    rate, doubled = (median(run.rate for run in runs) for runs in (single, double))
    each, both = (median(run.turn.each for run in runs) for runs in (single, double))
    return (
        f"{operation.title}: {rate:,.0f}/s with one worker, {doubled:,.0f}/s with two, {how}: {ratio:.2f} times, "
        f"goal {GOAL}; a request takes {each:.3f} and {both:.3f} ms of CPU, and the busier of two workers uses "
        f"{median(run.turn.busiest for run in double):.0%}"
    )


async def _runs(server: Server, data: Database, workers: int, seconds: float) -> AsyncIterator[tuple[str, Run]]:
    users = make_people(server, SIZE.tenants)
    await rows.fill(data.connection, list(dict.fromkeys(user.tenant_id for user in users)), SIZE)
    sample, bearers = await rows.sample(data.connection, users, SIZE), tokens(server, users)
    with held(tree(server.pid), SHARE) as is_held:
        for operation in OPERATIONS:
            requests = operation.load(sample, bearers)
            turn = await run_turn(server, operation, requests, seconds, workers=workers)
            yield operation.name, Run(turn, is_held)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4, help="of each measured run")
    asked = parser.parse_args()
    if not asyncio.run(main(asked.turns, asked.seconds)):
        raise SystemExit(1)
