"""``cache=`` of a user's own handlers: what Litestar stores for one caller is shown to no other."""

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio
from litestar import Request, get
from litestar.di import NamedDependency

from tenantry import ORDINARY, PUBLIC, TENANT_TOKEN, Caller, Rows, rules
from tenantry.catalogue import Product
from tests.http.app import TestApp, open_test_app
from tests.http.conftest import seed

MADE: Counter[str] = Counter()
OPT = rules(policy=TENANT_TOKEN, limit=ORDINARY, takes_scope=True)


@get("/own/names", cache=60, opt=OPT)
async def names(products: NamedDependency[Rows[Product]], caller: NamedDependency[Caller]) -> list[str]:
    MADE["names"] += 1
    return [caller.email, *(row.value.name for row in (await products.page()).items)]


def by_path(request: Request[Any, Any, Any]) -> str:
    return request.url.path


@get("/own/counts", cache=60, cache_key_builder=by_path, opt=OPT)
async def counts(products: NamedDependency[Rows[Product]]) -> int:
    MADE["counts"] += 1
    return (await products.page()).total or 0


@get("/own/news", cache=60, opt=rules(policy=PUBLIC, limit=ORDINARY))
async def news() -> str:
    MADE["news"] += 1
    return "news"


@pytest_asyncio.fixture
async def app() -> AsyncIterator[TestApp]:
    MADE.clear()
    app = await open_test_app(routes=(names, counts, news))
    await seed(app)
    for tenant in ("acme", "other"):
        product = {"name": f"Lamp of {tenant}", "sku": "LAMP-1", "price": 1}
        assert (await app.call("POST", "/api/products", as_whom=tenant, json=product)).status_code == 201
    yield app
    await app.client.aclose()


async def test_each_caller_is_answered_apart_and_once(app: TestApp) -> None:
    expected = {
        "acme": ["admin@acme.example", "Lamp of acme"],
        "reader": ["reader@acme.example", "Lamp of acme"],
        "other": ["admin@other.example", "Lamp of other"],
    }
    for _ in range(2):
        assert {whom: (await app.call("GET", "/own/names", as_whom=whom)).json() for whom in expected} == expected
    assert MADE["names"] == len(expected)
    assert (await app.call("GET", "/own/names")).status_code == 401


async def test_new_rights_and_another_tenant_are_another_caller(app: TestApp) -> None:
    tenants = (await app.call("GET", "/api/tenants", as_whom="root in other")).json()["data"]["items"]
    acme = next(tenant["id"] for tenant in tenants if tenant["identifier"] == "acme")
    seen = [
        sorted((await app.call("GET", "/own/names", as_whom="root in other", headers=headers)).json()[1:])
        for headers in ({}, {"X-Tenant-Scope": acme}, {"X-Tenant-Scope": "all"})
    ]
    assert seen == [["Lamp of other"], ["Lamp of acme"], ["Lamp of acme", "Lamp of other"]]
    user = (await app.call("GET", "/api/auth/me", as_whom="reader")).json()["data"]["id"]
    await app.call("GET", "/own/names", as_whom="reader")
    made = MADE["names"]
    body = {"roleNames": ["Member"]}
    assert (await app.call("POST", f"/api/users/{user}/roles", as_whom="acme", json=body)).status_code == 200
    await app.login("reader", "reader@acme.example")
    await app.call("GET", "/own/names", as_whom="reader")
    assert MADE["names"] == made + 1


async def test_a_key_of_the_project_s_own_is_one_for_each_tenant(app: TestApp) -> None:
    for whom in ("acme", "reader", "other", "acme", "other"):
        assert (await app.call("GET", "/own/counts", as_whom=whom)).json() == 1
    assert MADE["counts"] == 2


async def test_what_everybody_may_see_is_stored_once(app: TestApp) -> None:
    assert [(await app.call("GET", "/own/news")).text for _ in range(3)] == ["news"] * 3
    assert MADE["news"] == 1


async def test_headers_of_a_stored_answer_are_those_of_this_request(app: TestApp) -> None:
    answers = [await app.call("GET", "/own/names", as_whom="acme") for _ in range(2)]
    for answer in answers:
        assert [len(answer.headers.get_list(name)) for name in ("X-Request-Id", "X-RateLimit-Remaining")] == [1, 1]
        assert answer.headers["Cache-Control"] == "no-store"
    first, again = answers
    assert first.headers["X-Request-Id"] != again.headers["X-Request-Id"]
    left = [int(answer.headers["X-RateLimit-Remaining"]) for answer in answers]
    assert left[1] == left[0] - 1
