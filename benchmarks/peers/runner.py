"""Order of a run: rounds over the operations, each on every peer in turn, its answers checked before it counts."""

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from benchmarks import client, wrk
from benchmarks.bench import FASTEST_DELETES, RESERVE
from benchmarks.failures import BenchmarkFailed, NothingAnswered
from benchmarks.measures import Load, Reading, medians, reading
from benchmarks.peers.checks import ensure_right
from benchmarks.peers.operations import Operation
from benchmarks.peers.started import Field, Peer
from benchmarks.requests import Request

MEASURED_NUMBERS = 500_000_000
LONGEST_ROUNDS = 12 * 60.0
"""Seconds of all rounds together; no round begins that would end after them."""

MOST_LOOKS, BETWEEN_LOOKS, QUIET = 100, 0.1, 0.02
"""A server is done when it used less than ``QUIET`` CPU seconds between two looks."""


class Plan(Struct, frozen=True, kw_only=True):
    """``seconds`` and ``warm_up`` are those of each measurement."""

    operations: Sequence[Operation]
    rounds: int
    seconds: float
    warm_up: float = 1.0


class Footprint(Struct, frozen=True):
    """Seconds until a peer's server was ready, MiB of its largest process then, and the most until the end."""

    ready_in: float
    idle: float
    peak: float


@dataclass
class Results:
    """``readings`` by the operation's and the peer's name; an operation that a peer lacks has no reading there.

    ``unanswered`` are operation and peer of measurements that the machine was too busy for.
    """

    peers: list[str] = field(default_factory=list)
    readings: dict[str, dict[str, list[Reading]]] = field(default_factory=dict)
    footprints: dict[str, Footprint] = field(default_factory=dict)
    rounds: int = 1
    unanswered: set[tuple[str, str]] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)
    load_before: float = field(default_factory=lambda: os.getloadavg()[0])

    def median(self, operation: str, peer: str) -> Reading | None:
        found = self.readings.get(operation, {}).get(peer)
        return medians(found) if found else None


async def carry_out(plan: Plan, played: Field, results: Results) -> None:
    results.peers = [peer.name for peer in played.peers]
    started = time.monotonic()
    for number in range(plan.rounds):
        if not has_time(number, time.monotonic() - started):
            print(f"{number} rounds of {plan.rounds}: another one would take too long", flush=True)
            break
        results.rounds = number + 1
        for operation in plan.operations:
            for peer in _in_turn(played.peers, number):
                await _measure(plan, played, peer, operation, results)
    for peer in played.peers:
        results.footprints[peer.name] = Footprint(peer.server.ready_in, peer.server.idle, peer.server.peak())


def has_time(done: int, elapsed: float) -> bool:
    """Whether another round ends in time, when it takes as long as those that are done; the first one always does."""
    return done == 0 or elapsed * (done + 1) / done <= LONGEST_ROUNDS


def _in_turn(peers: Sequence[Peer], number: int) -> Sequence[Peer]:
    """Another peer begins each round."""
    first = number % len(peers)
    return [*peers[first:], *peers[:first]]


async def _measure(plan: Plan, played: Field, peer: Peer, operation: Operation, results: Results) -> None:
    requests = tuple(operation.load(peer.dialect, played.data, peer.tokens))
    if not requests or any(failure.startswith(f"{peer.name}, {operation.title}:") for failure in results.failures):
        return
    known = results.readings.setdefault(operation.name, {}).setdefault(peer.name, [])
    try:
        if not known:
            await ensure_right(played, peer, operation.name)
        known.append(await _run(plan, played, peer, operation, requests))
    except NothingAnswered as failure:
        results.unanswered.add((operation.name, peer.name))
        print(f"{operation.title}, {peer.name}: {failure}", flush=True)
        return
    except BenchmarkFailed as failure:
        results.failures.append(f"{peer.name}, {operation.title}: {failure}")
        print(f"{operation.title}, {peer.name}: FAILED", flush=True)
        return
    last = known[-1]
    print(f"{operation.title}, {peer.name}: {last.rate:,.0f}/s, {last.busy:.0%} of its core", flush=True)


async def _run(plan: Plan, played: Field, peer: Peer, operation: Operation, requests: tuple[Request, ...]) -> Reading:
    """Measures, and a second time for longer where nothing was answered: a busy machine can be that slow."""
    for seconds in (plan.seconds, 3 * plan.seconds):
        found = await _measured(plan, played, peer, operation, requests, seconds)
        if found is not None:
            return found
    raise NothingAnswered(f"nothing was answered in {3 * plan.seconds:g} seconds\n{peer.server.last_words()}")


async def _measured(  # a run of one operation on one peer
    plan: Plan, played: Field, peer: Peer, operation: Operation, requests: tuple[Request, ...], seconds: float
) -> Reading | None:
    """Warms up, measures, and removes the rows that were made; None where nothing was answered."""
    deletes, tenants = operation.name == "delete", played.data.tenants
    try:
        if deletes:
            await peer.store.add_deletable(tenants, 0, round(FASTEST_DELETES * plan.warm_up))
        warm = await _send(peer, operation, requests, plan.warm_up, 0)
        if deletes:
            wanted = round(1.5 * warm.requests / warm.seconds * seconds) + RESERVE
            await peer.store.add_deletable(tenants, MEASURED_NUMBERS, wanted)
        cpu, database_cpu = peer.server.cpu(), await peer.store.cpu()
        load = await _send(peer, operation, requests, seconds, MEASURED_NUMBERS)
        return (
            None
            if not load.requests
            else reading(
                load,
                cpu=peer.server.cpu() - cpu,
                database_cpu=await peer.store.cpu() - database_cpu,
                memory=peer.server.peak(),
            )
        )
    finally:
        await _settled(peer)
        peer.server.forget_words()
        await peer.store.clean()


async def _settled(peer: Peer) -> None:
    """Waits until the server has done what was asked before the load ended; its rows come too late otherwise."""
    for _ in range(MOST_LOOKS):
        before = peer.server.cpu()
        await asyncio.sleep(BETWEEN_LOOKS)
        if peer.server.cpu() - before < QUIET:
            return


async def _send(
    peer: Peer, operation: Operation, requests: tuple[Request, ...], seconds: float, first_number: int
) -> Load:
    if operation.tool == "client":
        job = client.Job(
            port=peer.server.port,
            connections=operation.connections,
            seconds=seconds,
            requests=requests,
            first_number=first_number,
        )
        return await client.run(job, processes=2)
    with TemporaryDirectory(prefix="tenantry-bench-") as folder:
        script = Path(folder) / "load.lua"
        script.write_text(wrk.script(requests, first_number))
        load = await wrk.run(peer.server.address, script, operation.connections, seconds)
    if load.errors:
        raise BenchmarkFailed(f"{load.errors} errors in {load.requests} requests\n{peer.server.last_words()}")
    return load
