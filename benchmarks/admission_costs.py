"""Inputs of the simulation of the admission path, measured on this machine: CPU seconds, not times on a busy clock.

The service answers single rows and makes rows under the load of wrk; what its processes, PostgreSQL's and Redis' used
is divided by the number of requests. The parts (a signature, an admission) are measured in this process.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

from msgspec import Struct
from redis.asyncio import Redis

from adapters.joserfc import Issuance, JoserfcTokens
from adapters.memory.admissions import MemoryAdmissions
from adapters.redis.admissions import RedisAdmissions
from adapters.redis.client import redis_client
from adapters.redis.commands import Commands
from adapters.redis.lease import Lease, Times
from adapters.redis.shared_pipeline import SharedPipeline
from adapters.system import SystemClock
from application.ports.shared_memory import PresentedToken
from benchmarks import rows, wrk
from benchmarks.bench_data import Size, User
from benchmarks.databases import Database, database, servers
from benchmarks.people import make_people, tokens
from benchmarks.requests import MARK, Request, posting
from benchmarks.servers import SECRET_KEY, Server, service
from domain.identity.tokens import Claims
from domain.limits import Hit, Limit

CALLERS = 64
LARGE = 10_000_000
"""A limit that no measurement reaches."""


class Costs(Struct, frozen=True, kw_only=True):
    """CPU seconds of one request, by where they are spent.

    ``read`` and ``create`` are a GET of a row by its id and a POST of one, in a process of the service; ``…_sql`` is
    PostgreSQL's part. ``admission`` is Redis' part of the one call of each request: limit and four token versions;
    ``limit`` and ``versions`` are the calls of a cluster, where these lie on different nodes. ``signature`` is the
    check of a token that a process sees for the first time, ``remembered`` of one that it knows.
    """

    read: float
    create: float
    read_sql: float
    create_sql: float
    admission: float
    limit: float
    versions: float
    signature: float
    remembered: float


class NothingDue:
    """No change of a token version waits to be published."""

    async def due(self, age: float, most: int) -> dict[str, int]:  # noqa: ARG002  # as the port asks
        return {}

    async def published(self, versions: object) -> None:
        pass


async def measure(seconds: float = 5.0) -> Costs:
    """All inputs, in about half a minute; ``seconds`` is the time of each load. Raises BenchmarkFailed."""
    wrk.ensure_wrk()
    signature, remembered = _verification(2_000)
    async with servers() as (database_url, redis_url):
        admission, limit, versions = await _redis_calls(redis_url)
        async with database(database_url, f"tenantry_admission_{os.getpid()}") as data:
            with service(data.url, redis_url) as server:
                users = make_people(server, 5)
                size = Size(rows=20_000, tenants=5)
                await rows.fill(data.connection, list(dict.fromkeys(user.tenant_id for user in users)), size)
                reads, creates = await _requests(server, data, users, size)
                read, read_sql = await _under_load(server, data, reads, seconds)
                create, create_sql = await _under_load(server, data, creates, seconds)
    return Costs(
        read=read,
        create=create,
        read_sql=read_sql,
        create_sql=create_sql,
        admission=admission,
        limit=limit,
        versions=versions,
        signature=signature,
        remembered=remembered,
    )


async def _requests(
    server: Server, data: Database, users: Sequence[User], size: Size
) -> tuple[list[Request], list[Request]]:
    """Reads of rows and creates of rows, by all users in turn."""
    bearers = tokens(server, users)
    found = (await rows.sample(data.connection, users, size)).products
    reads = [
        Request(path=f"/api/products/{row}", token=bearers[user.id])
        for user in users
        for row in found[user.tenant_id][:40]
    ]
    body = {"name": "Lamp", "sku": f"B-{MARK}", "price": 1}
    return reads, [posting("/api/products", bearers[user.id], body) for user in users]


async def _under_load(
    server: Server, data: Database, requests: Sequence[Request], seconds: float
) -> tuple[float, float]:
    """CPU seconds of the service and of PostgreSQL for a request."""
    with tempfile.TemporaryDirectory(prefix="tenantry-bench-") as folder:
        script = Path(folder) / "load.lua"
        script.write_text(wrk.script(requests, 0))
        await wrk.run(server.address, script, 16, 1)
        before = server.cpu(), await data.cpu()
        script.write_text(wrk.script(requests, 1_000_000))
        load = await wrk.run(server.address, script, 16, seconds)
        after = server.cpu(), await data.cpu()
    return (after[0] - before[0]) / load.requests, (after[1] - before[1]) / load.requests


def _verification(number: int) -> tuple[float, float]:
    """CPU seconds to verify a token that is new, and one that is known."""
    now = datetime.now(UTC)
    issuance = Issuance(issuer="https://api.example", audience="api", lifetime=timedelta(hours=1))
    signed, verified = (JoserfcTokens(SECRET_KEY, issuance) for _ in range(2))
    key = signed.make_key(now - timedelta(days=1))
    signed.use([key])
    verified.use([key])
    texts = [signed.sign(_claims(now), now) for _ in range(number)]
    first = _cpu(lambda: [verified.read(text, now) for text in texts])
    again = _cpu(lambda: [verified.read(text, now) for text in texts])
    return first / number, again / number


def _claims(now: datetime) -> Claims:
    at = int(now.timestamp())
    user = uuid4()
    return Claims(
        iss="https://api.example",
        aud="api",
        sub=user,
        jti=uuid4(),
        sid=uuid4(),
        iat=at,
        nbf=at,
        exp=at + 900,
        token_type="Tenant",
        permissions=tuple(f"{action}:products" for action in ("create", "delete", "read", "update")),
        roles=("Clerk",),
        name="Somebody Else",
        email="somebody.else@example.com",
        rev=1,
        ver={f"user:{user}": 1},
        tenant_id=uuid4(),
    )


def _cpu(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


async def _redis_calls(url: str) -> tuple[float, float, float]:
    """CPU seconds of Redis for a whole admission, its limit alone, and its versions alone."""
    prefix = f"bench-{uuid4().hex}"
    pipeline = SharedPipeline(redis_client(url), patience=10.0)
    lease = Lease(pipeline, NothingDue(), Times(lifetime=3_600), commands=Commands(prefix))
    admissions = RedisAdmissions(lease, MemoryAdmissions(SystemClock()))
    names = [f"user:{number}" for number in range(CALLERS * 4)]
    await admissions.renew()
    ticket = (await admissions.admit((), PresentedToken(dict.fromkeys(names, 1), ()))).ticket
    assert ticket is not None
    await admissions.remember(dict.fromkeys(names, 1), ticket)
    minute = Limit("bench", LARGE)

    async def ask(caller: int, limited: bool, shown: bool) -> None:
        hits = [Hit(minute, f"user:{caller}")] if limited else []
        token = PresentedToken(dict.fromkeys(names[4 * caller : 4 * caller + 4], 1), ()) if shown else None
        await admissions.admit(hits, token)

    async with Redis.from_url(url) as redis:
        whole = await _redis_cpu(redis, lambda caller: ask(caller, True, True))
        limit = await _redis_cpu(redis, lambda caller: ask(caller, True, False))
        versions = await _redis_cpu(redis, lambda caller: ask(caller, False, True))
        keys = [key async for key in redis.scan_iter(match=f"{{{prefix}}}*", count=1_000)]
        await redis.delete(*keys)
    await pipeline.close()
    return whole, limit, versions


async def _redis_cpu(redis: "Redis", ask: Callable[[int], Awaitable[None]], each: int = 200) -> float:
    async def caller(number: int) -> None:
        for _ in range(each):
            await ask(number)

    before = await _used(redis)
    await asyncio.gather(*(caller(number) for number in range(CALLERS)))
    return (await _used(redis) - before) / (CALLERS * each)


async def _used(redis: "Redis") -> float:
    said = await redis.info("cpu")
    return float(said["used_cpu_user"]) + float(said["used_cpu_sys"])
