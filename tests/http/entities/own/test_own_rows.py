"""``Rows`` in handlers of a user's own: what the generated handlers promise holds here, too.

``cache=`` of a user's own handlers: what Litestar stores for one caller is shown to no other.
"""

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest_asyncio
from litestar import Request, Response, delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from domain.scope import AuditEvent
from tenantry import (
    ORDINARY,
    PUBLIC,
    TENANT_TOKEN,
    Caller,
    DataResponse,
    EntityData,
    NotFound,
    Rows,
    StoredRow,
    TenantDatabase,
    needs,
    rules,
)
from tenantry.catalogue import Category, Currency, Product, Status
from tests.http.app import Json, TestApp, open_test_app
from tests.http.conftest import seed

OPT = rules(policy=needs("create:products"), limit=ORDINARY, takes_scope=True)


@post("/own/kits", opt=OPT)
async def create_kit(
    request: Request[Any, Any, Any],
    categories: NamedDependency[Rows[Category]],
    products: NamedDependency[Rows[Product]],
) -> Response[EntityData[Product]]:
    """A category and a product in it: two writes under one Idempotency-Key."""
    body = await request.json()
    category = await categories.create(Category(name=body["category"]))
    row: StoredRow[Product] = await products.create({**body["product"], "category_id": category.id})
    return DataResponse(row)


@post("/own/many", opt=OPT)
async def create_many(request: Request[Any, Any, Any], products: NamedDependency[Rows[Product]]) -> Json:
    rows = await products.create_many((await request.json())["items"])
    changed = await products.update_many({row.id: {"stock": 7} for row in rows})
    await products.delete_many([changed[0].id])
    return {"stocks": [row.value.stock for row in changed], "versions": [row.version for row in changed]}


@delete("/own/products/{id:str}", opt=OPT)
async def delete_and_restore(id: FromPath[UUID], products: NamedDependency[Rows[Product]]) -> None:  # noqa: A002  # as in the path
    await products.delete(id, version=products.if_match)
    try:
        await products.get(id)
    except NotFound:
        await products.restore(id)


@post("/own/currencies", opt=rules(policy=TENANT_TOKEN, limit=ORDINARY))
async def create_currency(currencies: NamedDependency[Rows[Currency]]) -> str:
    return (await currencies.create({"code": "EUR", "name": "Euro"})).value.code


@post("/own/audit", opt=rules(policy=TENANT_TOKEN, limit=ORDINARY))
async def forge(audit_events: NamedDependency[Rows[Any]]) -> None:
    await audit_events.create({})


@get("/own/audit/first", opt=rules(policy=TENANT_TOKEN, limit=ORDINARY))
async def first_event(audit_events: NamedDependency[Rows[AuditEvent]]) -> Response[EntityData[AuditEvent]]:
    return DataResponse((await audit_events.page(page_size=1)).items[0])


@post("/own/misspelt", opt=rules(policy=TENANT_TOKEN, limit=ORDINARY))
async def misspell(products: NamedDependency[Rows[Product]]) -> None:
    await products.create({"nmae": "Lamp"})


@post("/own/live", opt=rules(policy=TENANT_TOKEN, limit=ORDINARY))
async def create_live(products: NamedDependency[Rows[Product]]) -> None:
    await products.create({"name": "Lamp", "sku": "L-1", "price": 1, "status": Status.LIVE})


@post("/own/living", status_code=200, opt=rules(policy=TENANT_TOKEN, limit=ORDINARY))
async def living(database: NamedDependency[TenantDatabase], products: NamedDependency[Rows[Product]]) -> list[bool]:
    row = await products.create({"name": "Lamp", "sku": "LAMP-9", "price": 1})
    async with database.read_only() as read:
        seen = await read.records.current(products.model, [row.id])
    async with database.transaction() as tx:
        held = await tx.records.current(products.model, [row.id])
    return [row.id in seen, row.id in held]


ROUTES = (
    create_kit,
    create_many,
    delete_and_restore,
    create_currency,
    forge,
    first_event,
    misspell,
    create_live,
    living,
)
KIT = {"category": "Lamps", "product": {"name": "Lamp", "sku": "LAMP-1", "price": "19.99"}}


@pytest_asyncio.fixture
async def own() -> AsyncIterator[TestApp]:
    app = await open_test_app(routes=ROUTES)
    await seed(app)
    yield app
    await app.client.aclose()


async def test_two_writes_are_answered_again_under_one_key(own: TestApp) -> None:
    headers = {"Idempotency-Key": "one"}
    first = await own.call("POST", "/own/kits", as_whom="acme", json=KIT, headers=headers)
    again = await own.call("POST", "/own/kits", as_whom="acme", json=KIT, headers=headers)
    assert (first.status_code, again.status_code) == (201, 201), again.text
    assert first.json()["data"] == again.json()["data"]
    assert (first.headers.get("Idempotent-Replayed"), again.headers["Idempotent-Replayed"]) == (None, "true")
    other = {**KIT, "category": "Bulbs"}
    refused = await own.call("POST", "/own/kits", as_whom="acme", json=other, headers=headers)
    assert refused.status_code == 422


async def test_many_rows_are_written_all_or_none(own: TestApp) -> None:
    items = [{"name": "A", "sku": "AAA", "price": 1}, {"name": "B", "sku": "BBB", "price": 2}]
    answer = await own.call("POST", "/own/many", as_whom="acme", json={"items": items})
    assert answer.json() == {"stocks": [7, 7], "versions": [2, 2]}
    wrong = await own.call("POST", "/own/many", as_whom="acme", json={"items": [items[0], {**items[1], "sku": "x"}]})
    assert [field["field"] for field in wrong.json()["error"]["details"]] == ["items[1].sku"]
    page = (await own.call("GET", "/api/products", as_whom="acme")).json()["data"]
    assert [row["sku"] for row in page["items"]] == ["BBB"]


async def test_versions_and_tenants_hold(own: TestApp) -> None:
    made = await own.call("POST", "/own/kits", as_whom="acme", json=KIT)
    path = f"/own/products/{made.json()['data']['id']}"
    assert (await own.call("DELETE", path, as_whom="other")).status_code == 404
    assert (await own.call("DELETE", path, as_whom="acme", headers={"If-Match": '"9"'})).status_code == 412
    assert (await own.call("DELETE", path, as_whom="acme", headers={"If-Match": '"1"'})).status_code == 204
    assert (await own.call("DELETE", "/own/products/17", as_whom="acme")).status_code == 404


async def test_rules_and_shared_rows_hold(own: TestApp) -> None:
    refused = await own.call("POST", "/own/live", as_whom="acme")
    assert (refused.status_code, refused.json()["error"]["details"][0]["field"]) == (422, "categoryId")
    assert (await own.call("POST", "/own/currencies", as_whom="acme")).status_code == 403
    assert (await own.call("POST", "/own/currencies", as_whom="root in acme")).text == "EUR"
    assert (await own.call("POST", "/own/audit", as_whom="acme")).status_code == 403


async def test_a_field_that_is_not_declared_is_a_mistake_of_the_handler(own: TestApp) -> None:
    answer = await own.call("POST", "/own/misspelt", as_whom="acme")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "INTERNAL_ERROR")


async def test_the_tenant_scope_is_the_requests(own: TestApp) -> None:
    tenants = (await own.call("GET", "/api/tenants", as_whom="root in other")).json()["data"]["items"]
    acme = next(tenant["id"] for tenant in tenants if tenant["identifier"] == "acme")
    headers = {"X-Tenant-Scope": acme}
    assert (await own.call("POST", "/own/kits", as_whom="other", json=KIT, headers=headers)).status_code == 403
    made = await own.call("POST", "/own/kits", as_whom="root in other", json=KIT, headers=headers)
    assert made.status_code == 201, made.text
    page = (await own.call("GET", "/api/products", as_whom="acme")).json()["data"]
    assert [row["sku"] for row in page["items"]] == ["LAMP-1"]


async def test_the_database_is_handed_to_who_asks(own: TestApp) -> None:
    assert (await own.call("POST", "/own/living", as_whom="acme")).json() == [True, True]


async def test_a_row_without_versions_brings_no_tag(own: TestApp) -> None:
    read = await own.call("GET", "/own/audit/first", as_whom="acme")
    assert (read.status_code, "ETag" in read.headers) == (200, False)
    described = (await own.call("GET", "/docs/v1/docs.json")).json()["paths"]["/own/audit/first"]["get"]
    assert "ETag" not in str(described["responses"])


MADE: Counter[str] = Counter()
OPT_OF_OWN_CACHING = rules(policy=TENANT_TOKEN, limit=ORDINARY, takes_scope=True)


@get("/own/names", cache=60, opt=OPT_OF_OWN_CACHING)
async def names(products: NamedDependency[Rows[Product]], caller: NamedDependency[Caller]) -> list[str]:
    MADE["names"] += 1
    return [caller.email, *(row.value.name for row in (await products.page()).items)]


def by_path(request: Request[Any, Any, Any]) -> str:
    return request.url.path


@get("/own/counts", cache=60, cache_key_builder=by_path, opt=OPT_OF_OWN_CACHING)
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


async def test_a_public_answer_is_computed_once_and_cached(app: TestApp) -> None:
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
