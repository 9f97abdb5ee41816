"""``python -m benchmarks.workers``: what a second worker brings where the databases have cores of their own.

On a machine whose cores are all in use, a second worker has nothing to run on. What it would bring follows from two
readings that do not need a free core: whether a request takes more CPU with two workers than with one, and whether both
take the same part of the load.
"""

import argparse
import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from statistics import median

from benchmarks import rows, wrk
from benchmarks.bench_data import Size
from benchmarks.databases import Database, database, servers
from benchmarks.operations import MAIN, ME, Operation
from benchmarks.people import make_people, tokens
from benchmarks.servers import Server, service
from benchmarks.turns import Turn, run_turn

GOAL = 1.9
"""Times the rate of one worker."""

SIZE = Size(rows=20_000, tenants=2)
GET = next(operation for operation in MAIN if operation.name == "get")
OPERATIONS: Sequence[Operation] = (GET, ME)


async def main(turns: int, seconds: float) -> bool:
    """Prints a line for each operation; False where a ratio misses the goal."""
    wrk.ensure_wrk()
    read: dict[tuple[str, int], list[Turn]] = {}
    async with servers() as (database_url, redis_url):
        for turn in range(turns):
            for workers in (1, 2) if turn % 2 == 0 else (2, 1):
                async with database(database_url, f"tenantry_workers_{os.getpid()}") as data:
                    with service(data.url, redis_url, workers=workers) as server:
                        for name, taken in [pair async for pair in _turns(server, data, workers, seconds)]:
                            read.setdefault((name, workers), []).append(taken)
    ratios = [_ratio(read[operation.name, 1], read[operation.name, 2]) for operation in OPERATIONS]
    for operation, ratio in zip(OPERATIONS, ratios, strict=True):
        single, double = read[operation.name, 1], read[operation.name, 2]
        print(
            f"{operation.title}: {median(turn.each for turn in single):.3f} ms of CPU a request with one worker, "
            f"{median(turn.each for turn in double):.3f} with two, of which the busier one uses "
            f"{median(turn.busiest for turn in double):.0%}: {ratio:.2f} times the rate, goal {GOAL}"
        )
    return min(ratios) >= GOAL


def _ratio(single: Sequence[Turn], double: Sequence[Turn]) -> float:
    """Median over the turns, whose halves follow one another and so met the same machine."""
    return median(after.rate / before.rate for before, after in zip(single, double, strict=True))


async def _turns(server: Server, data: Database, workers: int, seconds: float) -> AsyncIterator[tuple[str, Turn]]:
    users = make_people(server, SIZE.tenants)
    await rows.fill(data.connection, list(dict.fromkeys(user.tenant_id for user in users)), SIZE)
    sample, bearers = await rows.sample(data.connection, users, SIZE), tokens(server, users)
    for operation in OPERATIONS:
        yield (
            operation.name,
            await run_turn(server, operation, operation.load(sample, bearers), seconds, workers=workers),
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4, help="of each measured run")
    asked = parser.parse_args()
    if not asyncio.run(main(asked.turns, asked.seconds)):
        raise SystemExit(1)
