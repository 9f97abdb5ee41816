"""Requests of many tenants at once, many of them given up half way: nobody ever gets a row of another tenant.

``TENANTRY_TEST_MIXED`` is how many each of the callers sends.
"""

import asyncio
from dataclasses import dataclass, field
from os import environ
from random import Random

import httpx
import pytest

from adapters.postgres.database import PostgresDatabase
from domain.entities.declaration import Registry
from tests.http.app import TestApp
from tests.http.entities.isolation.isolation import open_ground

REQUESTS = int(environ.get("TENANTRY_TEST_MIXED", "2"))
CALLERS = 200
TENANTS = ("t1", "t2", "t3", "t4", "t5")
MOST_ROWS = 400


@dataclass
class Callers:
    """``names`` are the categories that a tenant was told to have, by tenant."""

    app: TestApp
    names: dict[str, set[str]] = field(default_factory=lambda: {tenant: set() for tenant in TENANTS})
    answered: int = 0
    given_up: int = 0

    async def call(self, number: int) -> None:
        chance = Random(number)
        for _ in range(REQUESTS):
            tenant = chance.choice(TENANTS)
            request = asyncio.ensure_future(self._request(tenant, chance))
            if chance.random() < 0.3:
                # somewhere between the token and the last byte
                await asyncio.wait([request], timeout=chance.random() * 0.05)
                request.cancel()
            try:
                self._hold(tenant, await request)
                self.answered += 1
            except asyncio.CancelledError:
                self.given_up += 1

    async def _request(self, tenant: str, chance: Random) -> httpx.Response:
        name = f"{tenant}# {chance.randrange(MOST_ROWS)}"
        match chance.randrange(6):
            case 0:
                return await self.app.call("GET", "/api/categories?include=products&pageSize=20", as_whom=tenant)
            case 1:
                return await self.app.call("GET", "/api/categories/export?format=csv", as_whom=tenant)
            case 2:
                return await self.app.call("GET", "/api/categories?search=%23&sort=name:desc", as_whom=tenant)
            case 3:
                # refused where the name is taken: the transaction is rolled back
                items = [{"name": name}, {"name": f"{name} and one"}]
                return await self.app.call("POST", "/api/categories/batch", as_whom=tenant, json={"items": items})
            case 4:
                return await self.app.call("POST", "/api/categories", as_whom=tenant, json={"name": name})
            case _:
                return await self.app.call("GET", "/api/categories/not-an-id", as_whom=tenant)

    def _hold(self, tenant: str, answer: httpx.Response) -> None:
        assert answer.status_code in (200, 201, 400, 404, 409, 429), answer.text
        others = [other for other in TENANTS if other != tenant and f"{other}#" in answer.text]
        assert others == [], (tenant, str(answer.request.url), answer.text[:500])


@pytest.mark.promise(
    "security, isolation: 200 concurrent callers of five tenants, with errors, streams and requests given up half way, "
    "get no row of another tenant (make stress: 100,000 requests)"
)
@pytest.mark.timeout(300 + REQUESTS)
async def test_concurrent_callers_get_no_rows_of_another_tenant(postgres: PostgresDatabase, registry: Registry) -> None:
    ground = await open_ground(postgres, registry)
    app = ground.app
    for tenant in TENANTS:
        await app.make_tenant(tenant)
        await app.make_user(tenant, f"admin@{tenant}.example", ["Admin"])
        await app.login(tenant, f"admin@{tenant}.example")
    callers = Callers(app)
    async with asyncio.TaskGroup() as group:
        for number in range(CALLERS):
            group.create_task(callers.call(number))
    assert callers.answered > CALLERS / 2
    assert callers.given_up > CALLERS / 20
    for tenant in TENANTS:
        answer = await app.call("GET", "/api/categories/export?format=csv&fields=name", as_whom=tenant)
        names = answer.text.splitlines()[1:]
        assert names
        assert {name.partition(",")[2].partition("#")[0] for name in names} == {tenant}
    await app.client.aclose()
