"""A running benchmark: both servers with the same rows, and runs of operations against them."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from argon2 import PasswordHasher
from msgspec import Struct

from benchmarks import client, rows, wrk
from benchmarks.bench_data import CATALOGUE, PASSWORD, BenchData, Size, User
from benchmarks.databases import Database, database
from benchmarks.failures import BenchmarkFailed
from benchmarks.measures import Load, Pair, Reading, reading
from benchmarks.operations import Operation
from benchmarks.people import make_people, tokens
from benchmarks.requests import Request, numbered
from benchmarks.servers import Server, baseline, service

MEASURED_NUMBERS = 500_000_000
"""First number of a measured run; numbers of its warm-up begin at 0."""
FIRST_NUMBER = 2 * MEASURED_NUMBERS - 10_000
"""Number of the request that is checked before a run."""
FASTEST_DELETES = 8_000
"""Rows for each second of a warm-up. A measured run gets half as many again as the warm-up deleted, and a reserve."""
RESERVE = 2_000


class Timing(Struct, frozen=True, kw_only=True):
    seconds: float
    warm_up: float


@dataclass(frozen=True)
class Target:
    """A server, its database, and a token of each user."""

    server: Server
    database: Database
    tokens: Mapping[UUID, str]


@dataclass(frozen=True)
class Bench:
    service: Target
    baseline: Target
    bench_data: BenchData
    timing: Timing

    @property
    def servers(self) -> tuple[Server, Server]:
        return self.baseline.server, self.service.server

    async def pair(self, operation: Operation, *, baseline_first: bool) -> Pair:
        """Runs the operation on both servers; the first one alternates, since the second meets a warmer machine."""
        if baseline_first:
            baseline_reading = await self.run(operation, self.baseline)
            return Pair(baseline_reading, await self.run(operation, self.service))
        service_reading = await self.run(operation, self.service)
        return Pair(await self.run(operation, self.baseline), service_reading)

    async def run(self, operation: Operation, target: Target) -> Reading:
        """Runs the operation and removes the rows it made. Raises BenchmarkFailed on any error."""
        requests = tuple(operation.load(self.bench_data, target.tokens))
        if operation.deletes:
            await self._add_deletable(target, FIRST_NUMBER, 1)
        await _ensure_right(operation, target, requests[0])
        try:
            if operation.deletes:
                await self._add_deletable(target, 0, round(FASTEST_DELETES * self.timing.warm_up))
            warm = await self._load(operation, target, requests, self.timing.warm_up, 0)
            if operation.deletes:
                wanted = 1.5 * warm.requests / warm.seconds * self.timing.seconds
                await self._add_deletable(target, MEASURED_NUMBERS, round(wanted) + RESERVE)
            cpu, database_cpu = target.server.cpu(), await target.database.cpu()
            load = await self._load(operation, target, requests, self.timing.seconds, MEASURED_NUMBERS)
            return reading(
                load,
                cpu=target.server.cpu() - cpu,
                database_cpu=await target.database.cpu() - database_cpu,
                memory=target.server.peak(),
            )
        finally:
            target.server.forget_words()
            await rows.clean(target.database.connection)

    async def _add_deletable(self, target: Target, first: int, count: int) -> None:
        await rows.add_deletable(target.database.connection, self.bench_data.tenants, first, count)

    async def _load(
        self, operation: Operation, target: Target, requests: tuple[Request, ...], seconds: float, first_number: int
    ) -> Load:
        beside = [] if operation.beside is None else [operation.beside]
        others = [
            self._send(operation, target, tuple(operation.load(self.bench_data, target.tokens)), seconds, 0)
            for operation in beside
        ]
        try:
            load, *_ = await asyncio.gather(self._send(operation, target, requests, seconds, first_number), *others)
        except BenchmarkFailed as failure:
            raise _failed(operation, target, str(failure)) from None
        if load.errors or not load.requests:
            raise _failed(operation, target, f"{load.errors} errors in {load.requests} requests")
        return load

    async def _send(
        self, operation: Operation, target: Target, requests: tuple[Request, ...], seconds: float, first_number: int
    ) -> Load:
        if operation.tool == "client":
            job = client.Job(
                port=target.server.port,
                connections=operation.connections,
                seconds=seconds,
                requests=requests,
                first_number=first_number,
                follow=operation.follow(self.bench_data, target.tokens) if operation.follow else None,
            )
            return await client.run(job, processes=2)
        with TemporaryDirectory(prefix="tenantry-bench-") as folder:
            script = Path(folder) / "load.lua"
            script.write_text(wrk.script(requests, first_number))
            return await wrk.run(target.server.address, script, operation.connections, seconds)


def _failed(operation: Operation, target: Target, why: str) -> BenchmarkFailed:
    return BenchmarkFailed(f"{operation.title}, {target.server.name}: {why}\n{target.server.last_words()}")


async def _ensure_right(operation: Operation, target: Target, request: Request) -> None:
    """Raises BenchmarkFailed for a wrong response, however fast it was."""
    line = await client.Line.open(target.server.port)
    try:
        text, _ = numbered(request.wire(), FIRST_NUMBER)
        answer = await line.ask(text)
    finally:
        line.close()
    body = answer.body.decode(errors="replace")
    if not 200 <= answer.status < 300 or operation.expects not in body.replace(": ", ":"):
        raise _failed(operation, target, f"{answer.status} {body[:300]}")


@asynccontextmanager
async def opened(database_url: str, redis_url: str, size: Size, timing: Timing) -> AsyncIterator[Bench]:
    """A benchmark with users made through the service's own API, and the same rows in both databases."""
    async with AsyncExitStack() as stack:
        own = await stack.enter_async_context(database(database_url, "tenantry_bench_service"))
        bare = await stack.enter_async_context(database(database_url, "tenantry_bench_baseline"))
        serving = stack.enter_context(service(own.url, redis_url, size.entities - CATALOGUE))
        users = make_people(serving, size.tenants)
        await _fill(bare, own, users, size)
        standing = stack.enter_context(baseline(bare.url))
        yield Bench(
            service=Target(serving, own, tokens(serving, users)),
            baseline=Target(standing, bare, tokens(standing, users)),
            bench_data=await rows.sample(own.connection, users, size),
            timing=timing,
        )


async def _fill(bare: Database, own: Database, users: list[User], size: Size) -> None:
    hashed = PasswordHasher(memory_cost=19_456, time_cost=2, parallelism=1).hash(PASSWORD)
    await rows.make_baseline(bare.connection, users, hashed)
    tenants = list(dict.fromkeys(user.tenant_id for user in users))
    for target in (bare, own):
        await rows.fill(target.connection, tenants, size)
