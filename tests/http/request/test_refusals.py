"""Refusals of administration: counted by their status, and lines of the audit trail, a few of many."""

from datetime import timedelta

import pytest

from adapters.memory.clock import MovableClock
from tests.http.app import TestApp


async def trail(app: TestApp, whom: str = "acme") -> list[tuple[str, str]]:
    answer = await app.call("GET", "/api/audit-events?pageSize=100&sort=occurredAt", as_whom=whom)
    events = answer.json()["data"]["items"]
    return [(event["action"], event["actorId"]) for event in events if event["action"].endswith(("refused", "limited"))]


@pytest.mark.promise(
    "security, audit trail: Refused administration stands in the audit trail, once a minute for each caller and "
    "operation; 403 and 429 are counted"
)
async def test_a_refused_administration_stands_in_the_trail_once_a_minute(app: TestApp) -> None:
    reader = (await app.call("GET", "/api/auth/me", as_whom="reader")).json()["data"]["id"]
    for _ in range(3):
        refused = await app.call("PUT", f"/api/users/{reader}", as_whom="reader", json={"fullName": "Mine"})
        assert refused.status_code == 403
    # by the permission, and by what only the use case knows
    assert (await app.call("GET", "/api/tenants", as_whom="reader")).status_code == 403
    assert await trail(app) == [("users.update.refused", reader), ("tenants.page.refused", reader)]
    assert isinstance(app.adapters.clock, MovableClock)
    app.adapters.clock.move(timedelta(minutes=1))
    await app.call("PUT", f"/api/users/{reader}", as_whom="reader", json={"fullName": "Mine"})
    assert len(await trail(app)) == 3
    assert await trail(app, "other") == []


@pytest.mark.promise(
    "security, audit trail: Refused administration stands in the audit trail, once a minute for each caller and "
    "operation; 403 and 429 are counted"
)
async def test_what_is_limited_stands_there_and_is_counted(app: TestApp) -> None:
    admin = (await app.call("GET", "/api/auth/me", as_whom="acme")).json()["data"]["id"]
    # the counters of a process are those of all applications in it
    before = [await counted(app, "roles.all", 429), await counted(app, "tenants.page", 403)]
    answers = [await app.call("GET", "/api/roles", as_whom="acme") for _ in range(103)]
    assert [answer.status_code for answer in answers] == [200] * 100 + [429] * 3
    assert await trail(app) == [("roles.all.limited", admin)]
    await app.call("GET", "/api/tenants", as_whom="reader")
    after = [await counted(app, "roles.all", 429), await counted(app, "tenants.page", 403)]
    assert [late - early for early, late in zip(before, after, strict=True)] == [3, 1]


async def counted(app: TestApp, endpoint: str, status: int) -> float:
    name = f'tenantry_answers_total{{endpoint="{endpoint}",status="{status}"}} '
    lines = (await app.client.get("/metrics")).text.splitlines()
    return next((float(line.removeprefix(name)) for line in lines if line.startswith(name)), 0.0)


async def test_refusals_of_rows_and_of_strangers_are_not_in_the_trail(app: TestApp) -> None:
    assert (await app.call("DELETE", "/api/products/x", as_whom="reader")).status_code == 403
    assert (await app.call("GET", "/api/users")).status_code == 401
    assert await trail(app) == []
