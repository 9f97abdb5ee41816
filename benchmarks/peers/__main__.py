"""``python -m benchmarks.peers``: measures the service beside its peers."""

import argparse
import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from benchmarks import machine
from benchmarks.bench_data import Size
from benchmarks.databases import held_on_their_cores, server_processes, servers
from benchmarks.failures import BenchmarkFailed
from benchmarks.peers import report
from benchmarks.peers.operations import OPERATIONS
from benchmarks.peers.runner import Plan, Results, carry_out
from benchmarks.peers.started import NAMES, POCKETBASE_NAME, ensure_installed, ensure_local, started
from benchmarks.processes import cores
from benchmarks.wrk import ensure_wrk

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 15 * 60.0
"""Seconds after which a run ends itself, whatever it has."""


class Asked(Struct, frozen=True, kw_only=True):
    plan: Plan
    size: Size
    names: Sequence[str]
    writes: bool


def read_arguments(arguments: Sequence[str]) -> Asked:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description="Measures the service beside its peers, on this machine."
    )
    parser.add_argument("--write", action="store_true", help="write the tables of docs/comparison.md")
    parser.add_argument("--rounds", type=int, default=3, help="how often each operation is measured (3)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measured run (2)")
    parser.add_argument("--rows", type=int, default=100_000, help="products (100000)")
    parser.add_argument("--tenants", type=int, default=10, help="tenants that have them (10)")
    parser.add_argument("--only", default="", help="names of operations, separated by commas; nothing is written")
    parser.add_argument("--peers", default="", help="names of peers, separated by commas; nothing is written")
    asked = parser.parse_args(arguments)
    chosen = _chosen(asked.only, [operation.name for operation in OPERATIONS], "operation")
    names = _chosen(asked.peers, NAMES, "peer")
    if asked.write and (asked.only or asked.peers):
        raise BenchmarkFailed("--write is for a whole run, without --only and --peers.")
    return Asked(
        plan=Plan(
            operations=[operation for operation in OPERATIONS if operation.name in chosen],
            rounds=asked.rounds,
            seconds=asked.seconds,
        ),
        size=Size(rows=asked.rows, tenants=asked.tenants),
        names=names,
        writes=asked.write,
    )


def _chosen(text: str, known: Sequence[str], what: str) -> Sequence[str]:
    names = [name for name in text.split(",") if name]
    if unknown := set(names) - set(known):
        raise BenchmarkFailed(f"No {what} is called {', '.join(sorted(unknown))}; there are: {', '.join(known)}.")
    return names or known


async def main(asked: Asked) -> None:
    ensure_wrk()
    program = ensure_installed()
    results = Results()
    async with servers() as urls:
        ensure_local(*urls)
        described = [*await machine.describe(*urls), _rows(asked.size)]
        print("\n".join(described), flush=True)
        await asyncio.wait_for(_measure(asked, urls, results), LONGEST)
    print(f"\n{report.rates(asked.plan, results)}\n\n{report.slowest(asked.plan, results)}")
    if results.failures:
        raise BenchmarkFailed("\n\n".join(results.failures))
    if asked.writes:
        if POCKETBASE_NAME not in results.peers:
            raise BenchmarkFailed("PocketBase is missing: POCKETBASE=/path/to/pocketbase names its program.")
        report.write(asked.plan, results, described, ROOT, _version(program))
        print("\nWritten: docs/comparison.md")


async def _measure(asked: Asked, urls: tuple[str, str], results: Results) -> None:
    """Runs with this process, and so the load generators, beside the servers' core; servers move to theirs."""
    before = os.sched_getaffinity(0)
    with held_on_their_cores(await server_processes(*urls)) as held:
        if not held:
            print("The databases could not be kept off the servers' core: figures are less steady.", flush=True)
        os.sched_setaffinity(0, cores()[1])
        try:
            async with started(*urls, asked.size, asked.names) as played:
                await carry_out(asked.plan, played, results)
        finally:
            os.sched_setaffinity(0, before)


def _rows(size: Size) -> str:
    return f"{size.rows:,} products over {size.tenants:,} tenants, each with {size.categories_each:,} categories"


def _version(program: Path | None) -> str | None:
    """PocketBase's own word: ``pocketbase version 0.40.6`` is ``0.40.6``."""
    if program is None:
        return None
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]


if __name__ == "__main__":
    try:
        asyncio.run(main(read_arguments(sys.argv[1:])))
    except BenchmarkFailed as failure:
        sys.exit(f"\nThe benchmark failed.\n{failure}")
    except TimeoutError:
        sys.exit(f"\nThe benchmark took more than {LONGEST / 60:.0f} minutes and was ended.")
