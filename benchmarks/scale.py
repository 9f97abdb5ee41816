"""``python -m benchmarks.scale``: the service with many tenants and a large one, compared with itself at 100,000 rows.

Two services run side by side: one whose database has 100,000 rows, and one whose database has the other tenants and
the large one as well. The usual requests of small tenants are sent to both in turns, so that both meet the same
machine; then searches and ranges in the large tenant. Everything is asked one after the other: times and not rates are
compared.
"""

import argparse
import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from statistics import median
from time import perf_counter
from urllib.parse import urlsplit
from uuid import UUID

import asyncpg
import httpx
from msgspec import Struct

from adapters.postgres.operations.upkeep import PostgresUpkeep
from benchmarks import rows
from benchmarks.bench_data import PASSWORD, Size, User
from benchmarks.databases import Database, database, servers
from benchmarks.failures import BenchmarkFailed
from benchmarks.people import make_people, token
from benchmarks.servers import Server, service
from domain.entities.catalogue import ENTITIES
from domain.entities.registry import build_registry

Asked = tuple[str, str, str, dict[str, object] | None]
"""Method, path, Authorization (or nothing) and body."""
Timed = tuple[httpx.Client, Sequence[Asked]]

GOAL = 1.2
"""Largest ratio of the time with many tenants to that at 100,000 rows."""

LOGINS = 40
MOST_CREATED = 2_000
PORTION = 200_000
"""Rows of the large tenant that are inserted at a time."""
_INDEXES = """
SELECT format('DROP INDEX %s', indexrelid::regclass) AS drop, pg_get_indexdef(indexrelid) AS make
FROM pg_index WHERE indrelid IN ('products'::regclass, 'categories'::regclass) AND NOT indisprimary ORDER BY 1"""
# The default of 64 MB makes an index of trigrams in many small runs.
_MEMORY = "SET maintenance_work_mem = '512MB'"
_TENANTS = """
INSERT INTO tenants (id, name, identifier, created_at, settings)
SELECT gen_random_uuid(), 'Many ' || n, 'many-' || n, now(), (SELECT settings FROM tenants LIMIT 1)
FROM generate_series(1, $1::int) n RETURNING id"""
_ROLES = """
INSERT INTO roles (id, tenant_id, name, description, permissions)
SELECT gen_random_uuid(), t.id, 'Clerk', '', r.permissions FROM unnest($1::uuid[]) t (id),
    (SELECT permissions FROM roles WHERE name = 'Clerk' AND tenant_id = $2) r"""
_USERS = """
WITH made AS (
    INSERT INTO users (id, email, email_key, full_name, password_hash, email_confirmed, created_at, updated_at)
    SELECT gen_random_uuid(), 'many-' || n || '@example.com', 'many-' || n || '@example.com', 'Many ' || n,
        (SELECT password_hash FROM users WHERE email_key = $2), true, now(), now()
    FROM generate_series(1, cardinality($1::uuid[])) n RETURNING id
), placed AS (
    INSERT INTO memberships (tenant_id, user_id, is_default, joined_at)
    SELECT t.id, u.id, true, now() FROM unnest($1::uuid[]) WITH ORDINALITY t (id, n)
    JOIN (SELECT id, row_number() OVER () AS n FROM made) u USING (n) RETURNING tenant_id, user_id
)
INSERT INTO membership_roles (tenant_id, user_id, role_id)
SELECT p.tenant_id, p.user_id, r.id FROM placed p JOIN roles r ON r.tenant_id = p.tenant_id AND r.name = 'Clerk'"""


class Plan(Struct, frozen=True, kw_only=True):
    """``large`` rows in one tenant, ``each`` in every other one; ``times`` each request is timed.

    After half of ``minutes`` no further rows are added to the large tenant: the rest is for the indexes.
    """

    tenants: int
    each: int
    large: int
    times: int
    minutes: float


def read_plan() -> Plan:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale")
    parser.add_argument("--tenants", type=int, default=10_000)
    parser.add_argument("--each", type=int, default=800, help="rows of each small tenant")
    parser.add_argument("--large", type=int, default=2_000_000, help="rows of the large tenant")
    parser.add_argument("--times", type=int, default=200, help="how often each request is timed")
    parser.add_argument("--minutes", type=float, default=20, help="most time to make the rows; then they are fewer")
    asked = parser.parse_args()
    return Plan(tenants=asked.tenants, each=asked.each, large=asked.large, times=asked.times, minutes=asked.minutes)


class Side(Struct, frozen=True):
    """A service with its database, and users of it: the tenants of ``small`` have 100,000 rows."""

    server: Server
    data: Database
    large: User
    small: Sequence[User]


async def main(plan: Plan) -> None:
    async with servers() as (database_url, redis_url), AsyncExitStack() as stack:
        few = await stack.enter_async_context(_side(database_url, redis_url, "few", 14))
        many = await stack.enter_async_context(_side(database_url, redis_url, "many", 15))
        made = await _grow(many, plan)
        print(f"{plan.tenants:,} tenants, {made:,} rows in one and {plan.each} in each other", flush=True)
        for name, first, second in _usual(few, many, plan.times):
            ratio = second / first
            sign = "" if ratio <= GOAL else f", above {GOAL}"
            print(f"{name}: {first:.2f} ms with 100,000 rows, {second:.2f} ms with all: {ratio:.2f} times{sign}")
        for asked, milliseconds in _searches(many, await _a_category(many), made):
            print(f"GET /api/products?{asked}: {milliseconds:.1f} ms")


@asynccontextmanager
async def _side(database_url: str, redis_url: str, name: str, redis_database: int) -> AsyncIterator[Side]:
    """A service with 100,000 rows in four tenants, and a fifth without rows; its Redis database is its own."""
    own_redis = urlsplit(redis_url)._replace(path=f"/{redis_database}").geturl()
    async with database(database_url, f"tenantry_scale_{name}_{os.getpid()}") as data:
        with service(data.url, own_redis) as server:
            large, *small = _one_each(make_people(server, 5))
            await rows.fill(data.connection, [user.tenant_id for user in small], Size(rows=100_000, tenants=len(small)))
            yield Side(server, data, large, small)


def _one_each(users: Sequence[User]) -> list[User]:
    return list({user.tenant_id: user for user in reversed(users)}.values())


async def _grow(side: Side, plan: Plan) -> int:
    """Makes the other tenants, each with a member, and all rows; returns the number of rows of the large tenant."""
    clock, connection, like = Clock(), side.data.connection, side.small[0]
    found = await connection.fetch(_TENANTS, plan.tenants - 5, timeout=rows.SECONDS)
    others = [row["id"] for row in found]
    await connection.execute(_ROLES, others, like.tenant_id, timeout=rows.SECONDS)
    await connection.execute(_USERS, others, like.email, timeout=rows.SECONDS)
    clock.say(f"{len(others):,} tenants with a member")
    # An index is made several times quicker of all rows at once.
    indexes = await connection.fetch(_INDEXES)
    for index in indexes:
        await connection.execute(index["drop"])
    await rows.add(connection, others, Size(rows=plan.each * len(others), tenants=len(others)), 0)
    clock.say(f"{plan.each * len(others):,} rows of small tenants")
    made = await _large(connection, side.large, plan, clock)
    await connection.execute(_MEMORY)
    for index in indexes:
        await connection.execute(index["make"], timeout=rows.SECONDS)
        clock.say(index["drop"].removeprefix("DROP INDEX "))
    await connection.execute("ANALYZE", timeout=rows.SECONDS)
    await rows.settle(connection)
    # what the service does each hour
    await PostgresUpkeep(side.data.url, build_registry(ENTITIES)).tend()
    clock.say("VACUUM, ANALYZE and upkeep")
    return made


async def _large(connection: "asyncpg.Connection[asyncpg.Record]", user: User, plan: Plan, clock: "Clock") -> int:
    """Rows of the large tenant, in portions, until all are there or half of the time is over."""
    made = 0
    while made < plan.large and (not made or clock.seconds < 30 * plan.minutes):
        upto = min(plan.large, made + PORTION)
        await rows.add(connection, [user.tenant_id], Size(rows=upto, tenants=1), made)
        made = upto
    clock.say(f"{made:,} rows of the large tenant")
    return made


class Clock:
    """Seconds since the start, and a line for each step."""

    def __init__(self) -> None:
        self._started = self._last = perf_counter()

    @property
    def seconds(self) -> float:
        return perf_counter() - self._started

    def say(self, step: str) -> None:
        last, self._last = self._last, perf_counter()
        print(f"  {self._last - last:6.1f} s  {step}", flush=True)


def _usual(few: Side, many: Side, times: int) -> Iterator[tuple[str, float, float]]:
    """Medians of the usual requests to both services, in milliseconds."""
    with _client(few) as first, _client(many) as second:
        for name, count, asked in OPERATIONS:
            pair = (first, asked(first, few)), (second, asked(second, many))
            yield name, *_timed_in_turns(*pair, count or times)


def _client(side: Side) -> httpx.Client:
    return httpx.Client(base_url=side.server.address, timeout=60.0)


def _pages(client: httpx.Client, side: Side) -> list[Asked]:
    return [("GET", "/api/products", _bearer(client, user), None) for user in side.small]


def _gets(client: httpx.Client, side: Side) -> list[Asked]:
    bearers = [_bearer(client, user) for user in side.small]
    return [("GET", f"/api/products/{_first_id(client, bearer)}", bearer, None) for bearer in bearers]


def _creates(client: httpx.Client, side: Side) -> list[Asked]:
    bearers = [_bearer(client, user) for user in side.small]
    bodies = [{"name": f"Lamp {n}", "sku": f"B-{n}", "price": 1} for n in range(MOST_CREATED)]
    return [("POST", "/api/products", bearers[n % len(bearers)], body) for n, body in enumerate(bodies)]


def _logins(_: httpx.Client, side: Side) -> list[Asked]:
    forms = [{"email": user.email, "password": PASSWORD, "isPasswordEncrypted": False} for user in side.small]
    return [("POST", "/api/auth/login", "", form) for form in forms]


OPERATIONS: Sequence[tuple[str, int | None, Callable[[httpx.Client, Side], list[Asked]]]] = (
    ("first page", None, _pages),
    ("get", None, _gets),
    ("create", None, _creates),
    ("login", LOGINS, _logins),
)
"""Name, how often it is timed where that is not the plan's number, and its requests, which are sent in turn."""


def _searches(side: Side, category: UUID, made: int) -> Iterator[tuple[str, float]]:
    asked = [
        "count=none",
        f"categoryId={category}&minPrice=100&maxPrice=9000&sort=price&count=none",
        "stock=13&count=none",
        f"search={made - 1:09}",
        "search=lamp&count=none",
        "search=made&count=none",
        f"name.contains={made - 1}",
        "search=nowhere",
    ]
    with _client(side) as client:
        bearer = _bearer(client, side.large)
        for parameters in asked:
            request: Asked = ("GET", f"/api/products?{parameters}", bearer, None)
            yield parameters, median(_took(client, request) for _ in range(15))


def _timed_in_turns(first: Timed, second: Timed, times: int) -> tuple[float, float]:
    """Medians, behind a tenth of the requests that is not timed; the service that is asked first changes."""
    taken: list[tuple[float, float]] = []
    for turn in range(-times // 10, times):
        if turn % 2:
            before = _turn(first, turn)
            pair = before, _turn(second, turn)
        else:
            after = _turn(second, turn)
            pair = _turn(first, turn), after
        if turn >= 0:
            taken.append(pair)
    return median(pair[0] for pair in taken), median(pair[1] for pair in taken)


def _turn(timed: Timed, turn: int) -> float:
    client, requests = timed
    return _took(client, requests[turn % len(requests)])


def _took(client: httpx.Client, asked: Asked) -> float:
    method, path, bearer, body = asked
    started = perf_counter()
    answer = client.request(method, path, json=body, headers={"Authorization": bearer} if bearer else {})
    if not answer.is_success:
        raise BenchmarkFailed(f"{method} {path} answered {answer.status_code}: {answer.text[:300]}")
    return 1000 * (perf_counter() - started)


def _bearer(client: httpx.Client, user: User) -> str:
    return f"Bearer {token(client, user.email, PASSWORD)}"


def _first_id(client: httpx.Client, bearer: str) -> str:
    answer = client.get("/api/products?pageSize=1", headers={"Authorization": bearer})
    return str(answer.json()["data"]["items"][0]["id"])


async def _a_category(side: Side) -> UUID:
    asked = "SELECT id FROM categories WHERE tenant_id = $1 LIMIT 1"
    found: UUID = await side.data.connection.fetchval(asked, side.large.tenant_id)
    return found


if __name__ == "__main__":
    asyncio.run(main(read_plan()))
