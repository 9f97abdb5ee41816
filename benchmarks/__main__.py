"""``python -m benchmarks``: measures the service against the baseline."""

import argparse
import asyncio
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks import machine, report, table
from benchmarks.bench import Timing
from benchmarks.bench_data import Size
from benchmarks.databases import held_on_their_cores, server_processes, servers
from benchmarks.failures import BenchmarkFailed
from benchmarks.operations import FURTHER, MAIN, Operation
from benchmarks.processes import cores
from benchmarks.runner import Plan, Results, carry_out
from benchmarks.wrk import ensure_wrk

DOCS = Path(__file__).resolve().parent.parent / "docs"
OPERATIONS = (*MAIN, *FURTHER)


def read_plan() -> Plan:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measures the service against the baseline."
    )
    parser.add_argument("--quick", action="store_true", help="one short round of the main operations, no report")
    parser.add_argument("--rounds", type=int, help="how often each operation is measured (5, quick 1)")
    parser.add_argument("--seconds", type=float, help="of each measured run (2, quick 4)")
    parser.add_argument("--growth", action="store_true", help="more connections, rows, tenants and entities as well")
    parser.add_argument("--rows", type=int, default=100_000, help="products; 2000000 is the large variant")
    parser.add_argument("--tenants", type=int, default=10)
    parser.add_argument("--only", help="names of operations, separated by commas; no report")
    asked = parser.parse_args()
    is_whole = not asked.quick and asked.only is None
    return Plan(
        size=Size(rows=asked.rows, tenants=asked.tenants),
        timing=Timing(seconds=asked.seconds or (4 if asked.quick else 2), warm_up=1),
        rounds=asked.rounds or (1 if asked.quick else 5),
        operations=_named(asked.only.split(",")) if asked.only else OPERATIONS if is_whole else MAIN,
        grows=asked.growth,
        reports=is_whole,
    )


def _named(names: Sequence[str]) -> list[Operation]:
    known = [operation.name for operation in OPERATIONS]
    if unknown := set(names) - set(known):
        raise BenchmarkFailed(f"No operation is called {', '.join(unknown)}; there are: {', '.join(known)}.")
    return [operation for operation in OPERATIONS if operation.name in names]


async def main(plan: Plan) -> None:
    ensure_wrk()
    async with servers() as urls:
        described = await machine.describe(*urls)
        print("\n".join(described), flush=True)
        with _in_their_places(await server_processes(*urls)):
            results = await carry_out(plan, urls)
    _show(plan, results)
    if results.failures:
        raise BenchmarkFailed("\n\n".join(results.failures.values()))
    if plan.reports:
        print(f"\nWritten to {report.write(plan, results, described, DOCS)}")


def _show(plan: Plan, results: Results) -> None:
    print()
    for footprint in results.footprints:
        print(f"{footprint.name}: ready in {footprint.ready_in:.2f} s, {footprint.idle:.0f} MiB idle")
    print("\n" + table.ratios(results.rows(plan.operations)))
    if results.alone:
        print("\n" + table.alone(results.alone_rows(plan.operations)))


@contextmanager
def _in_their_places(databases: list[int]) -> Iterator[None]:
    """Keeps this process, and so the load generators, to their cores; servers move to theirs as they start."""
    before = os.sched_getaffinity(0)
    with held_on_their_cores(databases) as held:
        if not held:
            print("The databases could not be kept off the servers' core: figures are less steady.", flush=True)
        os.sched_setaffinity(0, cores()[1])
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)


if __name__ == "__main__":
    try:
        asyncio.run(main(read_plan()))
    except BenchmarkFailed as failure:
        sys.exit(f"\nThe benchmark failed.\n{failure}")
