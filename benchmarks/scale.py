"""``python -m benchmarks.scale``: the service with many tenants and a large one, compared with itself at 100,000 rows.

The usual requests of small tenants are timed before and after the others and the large one are there; then searches and
ranges in the large tenant. Everything is asked one after the other, so that times and not rates are compared.
"""

import argparse
import asyncio
import os
from collections.abc import Iterator, Sequence
from statistics import median
from time import perf_counter
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

GOAL = 1.2
"""Largest ratio of the time with many tenants to that at 100,000 rows."""

LOGINS = 20
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
    parser.add_argument("--each", type=int, default=100, help="rows of each small tenant")
    parser.add_argument("--large", type=int, default=2_000_000, help="rows of the large tenant")
    parser.add_argument("--times", type=int, default=200, help="how often each request is timed")
    parser.add_argument("--minutes", type=float, default=10, help="most time to make the rows; then they are fewer")
    asked = parser.parse_args()
    return Plan(tenants=asked.tenants, each=asked.each, large=asked.large, times=asked.times, minutes=asked.minutes)


async def main(plan: Plan) -> None:
    async with servers() as (database_url, redis_url), database(database_url, f"tenantry_scale_{os.getpid()}") as data:
        with service(data.url, redis_url) as server:
            large, *small = _one_each(make_people(server, 5))
            await rows.fill(data.connection, [user.tenant_id for user in small], Size(rows=100_000, tenants=len(small)))
            before = dict(_usual(server, small, plan.times))
            made = await _grow(data, large, small[0], plan)
            print(f"{plan.tenants:,} tenants, {made:,} rows in one and {plan.each} in each other", flush=True)
            after = dict(_usual(server, small, plan.times))
            for name, first in before.items():
                ratio = after[name] / first
                sign = "" if ratio <= GOAL else f", above {GOAL}"
                print(f"{name}: {first:.2f} ms at 100,000 rows, {after[name]:.2f} ms now: {ratio:.2f} times{sign}")
            for asked, milliseconds in _searches(server, large, await _a_category(data.connection, large), made):
                print(f"GET /api/products?{asked}: {milliseconds:.1f} ms")


def _one_each(users: Sequence[User]) -> list[User]:
    return list({user.tenant_id: user for user in reversed(users)}.values())


async def _grow(data: Database, large: User, like: User, plan: Plan) -> int:
    """Makes the other tenants, each with a member, and all rows; returns the number of rows of the large tenant."""
    clock, connection = Clock(), data.connection
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
    made = await _large(connection, large, plan, clock)
    await connection.execute(_MEMORY)
    for index in indexes:
        await connection.execute(index["make"], timeout=rows.SECONDS)
        clock.say(index["drop"].removeprefix("DROP INDEX "))
    await connection.execute("ANALYZE", timeout=rows.SECONDS)
    await rows.settle(connection)
    # what the service does each hour
    await PostgresUpkeep(data.url, build_registry(ENTITIES)).tend()
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


def _usual(server: Server, users: Sequence[User], times: int) -> Iterator[tuple[str, float]]:
    """Medians of the usual requests, in milliseconds, in turns by the users."""
    with httpx.Client(base_url=server.address, timeout=60.0) as client:
        bearers = [_bearer(client, user) for user in users]
        ids = [_first_id(client, bearer) for bearer in bearers]
        turns = range(times)
        yield "first page", _timed(client, [("GET", "/api/products", bearers[n % len(users)], None) for n in turns])
        gets = [("GET", f"/api/products/{ids[n % len(users)]}", bearers[n % len(users)], None) for n in turns]
        yield "get", _timed(client, gets)
        mark = f"{perf_counter():.6f}".replace(".", "-")
        bodies = [{"name": f"Lamp {n}", "sku": f"B-{mark}-{n}", "price": 1} for n in turns]
        yield "create", _timed(client, [("POST", "/api/products", bearers[n % len(users)], bodies[n]) for n in turns])
        logins = [
            {"email": users[n % len(users)].email, "password": PASSWORD, "isPasswordEncrypted": False}
            for n in range(LOGINS)
        ]
        yield "login", _timed(client, [("POST", "/api/auth/login", "", body) for body in logins])


def _searches(server: Server, user: User, category: UUID, made: int) -> Iterator[tuple[str, float]]:
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
    with httpx.Client(base_url=server.address, timeout=60.0) as client:
        bearer = _bearer(client, user)
        for parameters in asked:
            yield parameters, _timed(client, [("GET", f"/api/products?{parameters}", bearer, None)] * 15)


Asked = tuple[str, str, str, dict[str, object] | None]


def _timed(client: httpx.Client, requests: Sequence[Asked]) -> float:
    taken = []
    for method, path, bearer, body in requests:
        started = perf_counter()
        answer = client.request(method, path, json=body, headers={"Authorization": bearer} if bearer else {})
        taken.append(1000 * (perf_counter() - started))
        if not answer.is_success:
            raise BenchmarkFailed(f"{method} {path} answered {answer.status_code}: {answer.text[:300]}")
    return median(taken)


def _bearer(client: httpx.Client, user: User) -> str:
    return f"Bearer {token(client, user.email, PASSWORD)}"


def _first_id(client: httpx.Client, bearer: str) -> str:
    answer = client.get("/api/products?pageSize=1", headers={"Authorization": bearer})
    return str(answer.json()["data"]["items"][0]["id"])


async def _a_category(connection: "asyncpg.Connection[asyncpg.Record]", user: User) -> UUID:
    found: UUID = await connection.fetchval("SELECT id FROM categories WHERE tenant_id = $1 LIMIT 1", user.tenant_id)
    return found


if __name__ == "__main__":
    asyncio.run(main(read_plan()))
