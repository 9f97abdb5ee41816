"""``python -m benchmarks.admission``: processes, Redis and database servers for 1,000,000 requests a second.

The admission path as a network of queues: each request occupies a process, then the Redis of its cell, then the
database. A *cell* is one installation: processes, one Redis (or cluster) and one primary with its replicas, for some
of the tenants. Costs are measured (admission_costs.py); what is calculated is simulated as well, event by event.
"""

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from math import ceil

from msgspec import Struct

from benchmarks.admission_costs import Costs, measure
from benchmarks.queueing import Station, mean_wait, simulate, units_for, wait_within

# Two cores of a shared virtual machine, Python 3.11, PostgreSQL 15, Redis 7: `--measure` gives those of another one.
MEASURED = Costs(
    read=620e-6,
    create=850e-6,
    read_sql=140e-6,
    create_sql=400e-6,
    admission=40e-6,
    limit=13e-6,
    versions=34e-6,
    signature=158e-6,
    remembered=1.6e-6,
)

CORES = 16
"""Cores of each database server."""
SHARE_OF_WRITES = 0.05
NETWORK = 0.0003
"""Seconds to another machine of the same zone and back."""
UTILISATIONS = (0.5, 0.6, 0.7, 0.8, 0.9)


class Layout(Struct, frozen=True, kw_only=True):
    """What serves ``rate`` requests a second; numbers are of all cells together."""

    rate: float
    cells: int
    processes: int
    replicas: int
    stations: tuple[Station, ...]

    @property
    def utilisations(self) -> dict[str, float]:
        return {station.name: station.utilisation(self.rate) for station in self.stations}


def cells_for(rate: float, costs: Costs, utilisation: float, writes: float = SHARE_OF_WRITES) -> int:
    """Fewest cells whose one Redis takes every admission, and whose one primary takes every write."""
    return max(
        units_for(rate, costs.admission, 1, utilisation), units_for(rate * writes, costs.create_sql, CORES, utilisation)
    )


def layout(rate: float, costs: Costs, utilisation: float, writes: float = SHARE_OF_WRITES) -> Layout:
    """Servers that work about ``utilisation`` of the time; each cell has the same number of everything."""
    cells = cells_for(rate, costs, utilisation, writes)
    process = (1 - writes) * costs.read + writes * costs.create
    processes = _of_each(cells, units_for(rate, process, 1, utilisation))
    replicas = _of_each(cells, units_for(rate * (1 - writes), costs.read_sql, CORES, utilisation))
    stations = (
        Station(name="process", seconds=process, units=processes),
        Station(name="redis", seconds=costs.admission, units=cells, away=NETWORK),
        Station(
            name="replica",
            seconds=costs.read_sql,
            units=replicas,
            servers=CORES,
            share=1 - writes,
            away=NETWORK,
        ),
        Station(name="primary", seconds=costs.create_sql, units=cells, servers=CORES, share=writes, away=NETWORK),
    )
    return Layout(rate=rate, cells=cells, processes=processes, replicas=replicas, stations=stations)


def _of_each(cells: int, number: int) -> int:
    return cells * ceil(number / cells)


def latencies(of: Layout) -> tuple[float, float]:
    """Mean seconds of a request by the formulas, and the largest wait of 99 % at any one station."""
    served = [station.seconds + station.away + mean_wait(station, of.rate) for station in of.stations]
    mean = sum(station.share * seconds for station, seconds in zip(of.stations, served, strict=True))
    return mean, max(wait_within(station, of.rate, 0.99) for station in of.stations)


def report(costs: Costs, rate: float, requests: int) -> Iterator[str]:
    """Lines: the inputs, a row for each utilisation, and what one Redis cluster for all would take."""
    yield from _inputs(costs)
    yield f"{rate:,.0f} requests a second, {SHARE_OF_WRITES:.0%} of them writes, by the time that servers work at most:"
    yield "   time  cells  processes  replicas     mean  longest wait of 99 %   simulated mean    99 %"
    for utilisation in UTILISATIONS:
        found = layout(rate, costs, utilisation)
        mean, longest = latencies(found)
        run = simulate(found.stations, rate, requests)
        numbers = f"{utilisation:7.0%}  {found.cells:5,}  {found.processes:9,}  {found.replicas:8,}"
        waits = f"{1e3 * mean:6.2f} ms  {1e3 * longest:17.2f} ms"
        yield f"{numbers}  {waits}  {1e3 * run.mean:11.2f} ms  {1e3 * run.p99:5.1f} ms"
    yield (
        "One Redis cluster for all: the versions of all tokens lie on one node, which at 70 % takes "
        f"{0.7 / costs.versions:,.0f} requests a second."
    )
    yield _without_redis(costs, rate)


def _inputs(costs: Costs) -> Iterator[str]:
    yield "Costs of a request, in microseconds of CPU:"
    for name in costs.__struct_fields__:
        yield f"  {name:10} {1e6 * getattr(costs, name):8.1f}"


def _without_redis(costs: Costs, rate: float) -> str:
    """While Redis is away each request asks the primary for the versions of its token, at about the price of a read."""
    found = layout(rate, costs, 0.7)
    primary = found.stations[-1]
    load = (rate / found.cells) * (SHARE_OF_WRITES * costs.create_sql + costs.read_sql) / primary.servers
    return (
        f"While the Redis of a cell is away, its primary is asked for token versions as well: at 70 % it would work "
        f"{load:.0%} of its time."
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.admission")
    parser.add_argument("--rate", type=float, default=1_000_000, help="requests a second")
    parser.add_argument("--requests", type=int, default=300_000, help="requests that are simulated")
    parser.add_argument("--measure", action="store_true", help="measure the costs on this machine first (needs wrk)")
    asked = parser.parse_args(arguments)
    costs = asyncio.run(measure()) if asked.measure else MEASURED
    print("\n".join(report(costs, asked.rate, asked.requests)))


if __name__ == "__main__":
    main()
