"""One request a row: who asks what, and what is answered."""

from typing import Any, NamedTuple
from uuid import UUID

import pytest

from domain.scope import EveryTenant
from tests.http.app import ADMIN, PASSWORD, Json, TestApp
from tests.http.served import Served, served_by

NOBODY = None
UNKNOWN = "01900000-0000-7000-8000-000000000000"
LAMP = {"name": "Lamp", "sku": "LAMP-1", "price": 19.99}


def login(email: str = ADMIN, password: str = PASSWORD, **more: object) -> Json:
    return {"email": email, "password": password, "isPasswordEncrypted": False, **more}


class Row(NamedTuple):
    name: str
    method: str
    path: str
    whom: str | None
    body: object
    status: int
    code: str | None


AREA_A = [
    Row("login", "POST", "/api/auth/login", NOBODY, login(), 200, None),
    Row("wrong password", "POST", "/api/auth/login", NOBODY, login(password="x"), 401, "INVALID_CREDENTIALS"),
    Row("no account", "POST", "/api/auth/login", NOBODY, login("x@example.com"), 401, "INVALID_CREDENTIALS"),
    Row("no password", "POST", "/api/auth/login", NOBODY, {"email": ADMIN}, 400, "VALIDATION_ERROR"),
    Row("unknown field", "POST", "/api/auth/login", NOBODY, login(admin=True), 400, "VALIDATION_ERROR"),
    Row("foreign tenant", "POST", "/api/auth/login", NOBODY, login(preferredTenantId=UNKNOWN), 403, "FORBIDDEN"),
    Row("no refresh token", "POST", "/api/auth/refresh", NOBODY, {}, 400, "VALIDATION_ERROR"),
    Row("not ours", "POST", "/api/auth/refresh", NOBODY, {"refreshToken": "x"}, 401, "TOKEN_INVALID"),
    Row("switch nowhere", "POST", "/api/auth/switch-tenant", "reader", {"tenantId": UNKNOWN}, 403, "FORBIDDEN"),
    Row("switch, no id", "POST", "/api/auth/switch-tenant", "reader", {"tenantId": "x"}, 400, "VALIDATION_ERROR"),
    Row("me", "GET", "/api/auth/me", "reader", None, 200, None),
    Row("me, profile", "GET", "/api/auth/me?include=profile", "reader", None, 200, None),
    Row("me, complete", "GET", "/api/auth/me/complete", "reader", None, 200, None),
    Row("me, unknown include", "GET", "/api/auth/me?include=pets", "reader", None, 400, "VALIDATION_ERROR"),
    Row("me, misspelt", "GET", "/api/auth/me?inclued=profile", "reader", None, 400, "VALIDATION_ERROR"),
    Row("users", "GET", "/api/users?page=1&pageSize=500&sortBy=email&sortDirection=asc", "acme", None, 200, None),
    Row("users, page 0", "GET", "/api/users?page=0", "acme", None, 400, "VALIDATION_ERROR"),
    Row("users, misspelt", "GET", "/api/users?serach=x", "acme", None, 400, "VALIDATION_ERROR"),
    Row("unknown user", "GET", f"/api/users/{UNKNOWN}", "acme", None, 404, "NOT_FOUND"),
    Row("no id", "GET", "/api/users/1", "acme", None, 404, "NOT_FOUND"),
    Row("403 before 404", "PUT", f"/api/users/{UNKNOWN}", "reader", {}, 403, "FORBIDDEN"),
    Row("403 before 400", "POST", "/api/users", "reader", {"x": 1}, 403, "FORBIDDEN"),
    Row("new user, empty", "POST", "/api/users", "acme", {}, 400, "VALIDATION_ERROR"),
    Row("roles", "GET", "/api/roles", "acme", None, 200, None),
    Row(
        "role, no permission",
        "POST",
        "/api/roles",
        "acme",
        {"name": "R", "permissions": ["x"]},
        400,
        "VALIDATION_ERROR",
    ),
    Row("role", "POST", "/api/roles", "acme", {"name": "R", "permissions": ["read:users"]}, 201, None),
    Row("permissions", "GET", "/api/permissions", "acme", None, 200, None),
    Row("permission, no super-admin", "POST", "/api/permissions", "acme", {"name": "a:b"}, 403, "FORBIDDEN"),
    Row("permission", "POST", "/api/permissions", "root", {"name": "paint:walls"}, 201, None),
    Row("tenants, no super-admin", "GET", "/api/tenants", "acme", None, 403, "FORBIDDEN"),
    Row("tenants", "GET", "/api/tenants", "root", None, 200, None),
    Row("current tenant", "GET", "/api/tenants/current", "reader", None, 200, None),
    Row("taken identifier", "POST", "/api/tenants", "root", {"name": "A", "identifier": "acme"}, 409, "CONFLICT"),
    Row("unknown tenant's users", "GET", f"/api/tenants/{UNKNOWN}/users", "acme", None, 404, "NOT_FOUND"),
]

AREA_B = [
    Row("create", "POST", "/api/products", "acme", LAMP, 201, None),
    Row("create, may only read", "POST", "/api/products", "reader", LAMP, 403, "FORBIDDEN"),
    Row("create, 403 before 400", "POST", "/api/products", "reader", {"x": 1}, 403, "FORBIDDEN"),
    Row("server-owned fields", "POST", "/api/products", "acme", {**LAMP, "version": 9, "category": {}}, 201, None),
    Row("business rule", "POST", "/api/products", "acme", {**LAMP, "status": "live"}, 422, "UNPROCESSABLE_ENTITY"),
    Row("no such category", "POST", "/api/products", "acme", {**LAMP, "categoryId": UNKNOWN}, 400, "VALIDATION_ERROR"),
    Row("list", "GET", "/api/products", "reader", None, 200, None),
    Row("list, filtered", "GET", "/api/products?status=draft&sort=price:desc", "reader", None, 200, None),
    Row("list, misspelt filter", "GET", "/api/products?statsu=draft", "reader", None, 400, "VALIDATION_ERROR"),
    Row("list, page 0", "GET", "/api/products?page=0", "reader", None, 400, "VALIDATION_ERROR"),
    Row("list, no cursor", "GET", "/api/products?cursor=x", "reader", None, 400, "BAD_REQUEST"),
    Row("include without its permission", "GET", "/api/products?include=category", "reader", None, 403, "FORBIDDEN"),
    Row("filter without its permission", "GET", "/api/products?category.name=x", "reader", None, 403, "FORBIDDEN"),
    Row("sort without its permission", "GET", "/api/products?sort=category.name", "reader", None, 403, "FORBIDDEN"),
    Row("deleted ones, may only read", "GET", "/api/products?includeDeleted=true", "reader", None, 403, "FORBIDDEN"),
    Row("deleted ones", "GET", "/api/products?includeDeleted=true", "acme", None, 200, None),
    Row("read nothing", "GET", f"/api/products/{UNKNOWN}", "reader", None, 404, "NOT_FOUND"),
    Row("change nothing", "PUT", f"/api/products/{UNKNOWN}", "acme", {"price": 1}, 404, "NOT_FOUND"),
    Row("patch nothing", "PATCH", f"/api/products/{UNKNOWN}", "acme", {"price": 1}, 404, "NOT_FOUND"),
    Row("delete nothing", "DELETE", f"/api/products/{UNKNOWN}", "acme", None, 404, "NOT_FOUND"),
    Row("another id in the body", "PUT", f"/api/products/{UNKNOWN}", "acme", {"id": "1"}, 400, "VALIDATION_ERROR"),
    Row("shared rows, read", "GET", "/api/currencies", "acme", None, 200, None),
    Row("shared rows, written", "POST", "/api/currencies", "acme", {"code": "EUR", "name": "Euro"}, 403, "FORBIDDEN"),
    Row("shared rows, 403 before 400", "POST", "/api/currencies", "acme", {"x": 1}, 403, "FORBIDDEN"),
    Row("restore nothing", "POST", f"/api/products/{UNKNOWN}/restore", "acme", None, 404, "NOT_FOUND"),
    Row("restore, may only read", "POST", f"/api/products/{UNKNOWN}/restore", "reader", None, 403, "FORBIDDEN"),
    Row("purge nothing", "DELETE", f"/api/products/{UNKNOWN}?permanent=true", "acme", None, 404, "NOT_FOUND"),
    Row("purge, may only read", "DELETE", f"/api/products/{UNKNOWN}?permanent=true", "reader", None, 403, "FORBIDDEN"),
    Row("create many", "POST", "/api/products/batch", "acme", {"items": [LAMP]}, 200, None),
    Row("create none", "POST", "/api/products/batch", "acme", {"items": []}, 400, "VALIDATION_ERROR"),
    Row("change many of nothing", "PUT", "/api/products/batch", "acme", {"items": [{"id": UNKNOWN}]}, 404, "NOT_FOUND"),
    Row("delete many of nothing", "DELETE", "/api/products/batch", "acme", {"ids": [UNKNOWN]}, 404, "NOT_FOUND"),
    Row("by post", "POST", "/api/products/batch/delete", "acme", {"ids": [UNKNOWN]}, 404, "NOT_FOUND"),
    Row("many, may only read", "POST", "/api/products/batch", "reader", {"items": [LAMP]}, 403, "FORBIDDEN"),
    Row("history of nothing", "GET", f"/api/categories/{UNKNOWN}/history", "acme", None, 404, "NOT_FOUND"),
    Row("a parameter on a write", "POST", "/api/products?dryRun=true", "acme", LAMP, 400, "VALIDATION_ERROR"),
    Row("by super-admins", "POST", "/api/currencies", "root", {"code": "EUR", "name": "Euro"}, 201, None),
    Row("the audit trail", "GET", "/api/audit-events", "acme", None, 200, None),
]


@pytest.mark.promise("POST /api/auth/login")
@pytest.mark.promise("identity, fields: login request: email and password are required, unknown fields refused")
@pytest.mark.promise("identity, errors: VALIDATION_ERROR 400")
@pytest.mark.parametrize("row", AREA_A, ids=[row.name for row in AREA_A])
async def test_each_request_to_identity_gets_its_status_and_code(app: TestApp, row: Row) -> None:
    answer = await app.call(row.method, row.path, as_whom=row.whom, json=row.body)
    assert (answer.status_code, answer.json().get("errorCode")) == (row.status, row.code), answer.text


@pytest.mark.promise("GET /api/{entities}: the paged result")
@pytest.mark.parametrize("row", AREA_B, ids=[row.name for row in AREA_B])
async def test_each_request_to_entities_gets_its_status_and_code(app: TestApp, row: Row) -> None:
    answer = await app.call(row.method, row.path, as_whom=row.whom, json=row.body)
    code = answer.json().get("error", {}).get("code")
    assert (answer.status_code, code) == (row.status, row.code), answer.text


@pytest.mark.promise("POST /api/{entities}: 201, Location, the entity")
@pytest.mark.promise("GET /api/{entities}/{id}: with include")
@pytest.mark.promise("PUT /api/{entities}/{id}")
@pytest.mark.promise("DELETE /api/{entities}/{id}: 204")
async def test_the_life_of_a_product(app: TestApp) -> None:
    made = await app.call("POST", "/api/products", as_whom="acme", json=LAMP)
    path = made.headers["Location"]
    assert path == f"/api/products/{made.json()['data']['id']}"
    read = await app.call("GET", path, as_whom="acme")
    assert read.json()["data"] == made.json()["data"]
    sent_back = await app.call("PUT", path, as_whom="acme", json=read.json()["data"])
    assert sent_back.status_code == 200
    changed = await app.call("PATCH", path, as_whom="acme", json={"stock": 3})
    assert (changed.json()["data"]["stock"], changed.json()["data"]["name"]) == (3, "Lamp")
    listed = await app.call("GET", "/api/products?search=lamp", as_whom="acme")
    assert [item["stock"] for item in listed.json()["data"]["items"]] == [3]
    gone = await app.call("DELETE", path, as_whom="acme")
    assert (gone.status_code, gone.content) == (204, b"")
    assert (await app.call("GET", path, as_whom="acme")).status_code == 404
    shown = await app.call("GET", f"{path}?includeDeleted=true", as_whom="acme")
    assert shown.json()["data"]["isDeleted"] is True


@pytest.mark.promise("GET /api/{entities}: the paged result")
@pytest.mark.promise("entities, details: fields, cursor")
async def test_a_page_leads_to_the_next(app: TestApp) -> None:
    for number in range(5):
        await app.call("POST", "/api/products", as_whom="acme", json={**LAMP, "sku": f"LAMP-{number}"})
    seen: list[str] = []
    query = "pageSize=2"
    while query:
        data = (await app.call("GET", f"/api/products?{query}&sort=sku", as_whom="acme")).json()["data"]
        assert data["hasPreviousPage"] is bool(seen)
        seen += [item["sku"] for item in data["items"]]
        query = f"pageSize=2&cursor={data['nextCursor']}" if "nextCursor" in data else ""
    assert seen == [f"LAMP-{number}" for number in range(5)]


def table(app: TestApp) -> list[Served]:
    return served_by(app.services)


def concrete(endpoint: Served) -> str:
    return "/".join(UNKNOWN if step.startswith("{") else step for step in endpoint.path.split("/"))


@pytest.mark.promise(
    "identity, endpoints: all take a Bearer token but login, social login, register, refresh and the reset; each asks "
    "for its permission"
)
async def test_without_a_token_only_public_endpoints_answer(app: TestApp) -> None:
    for endpoint in table(app):
        answer = await app.call(endpoint.method, concrete(endpoint), json={} if endpoint.has_body else None)
        assert (answer.status_code == 401) is (endpoint.policy.asks is not None), endpoint


@pytest.mark.promise("GET /api/tenants/current")
@pytest.mark.promise(
    "identity, account states: global Token: two minutes, scope tenant-selector-only, opens nothing else"
)
async def test_a_global_token_opens_only_endpoints_that_accept_any_token(app: TestApp) -> None:
    tenants = (await app.call("GET", "/api/tenants", as_whom="root")).json()["data"]["items"]
    other = next(tenant["id"] for tenant in tenants if tenant["identifier"] == "other")
    users = (await app.call("GET", "/api/users", as_whom="acme")).json()["items"]
    reader = next(user["id"] for user in users if user["email"].startswith("reader"))
    body: Any = {"userId": reader, "roles": []}
    assert (await app.call("POST", f"/api/tenants/{other}/users", as_whom="root", json=body)).status_code == 201
    async with app.services.database.transaction(EveryTenant()) as tx:
        # Some of what takes any token asks for a proved address.
        assert await tx.credentials.confirm_email(UUID(reader), "reader@acme.example", app.services.clock.now())
    data = await app.login("selector", "reader@acme.example")
    assert (data["isGlobal"], data["requiresTenantSelection"]) == (True, True)
    for endpoint in table(app):
        if endpoint.policy.asks is None or endpoint.operation in ("auth.logout", "auth.delete-me"):
            continue
        # The console's session asks for its own header before it looks at a token.
        if endpoint.path.startswith("/console/"):
            continue
        answer = await app.call(
            endpoint.method, concrete(endpoint), as_whom="selector", json={} if endpoint.has_body else None
        )
        assert (answer.status_code == 403) is (endpoint.policy.asks != "any"), endpoint
    current = await app.call("GET", "/api/tenants/current", as_whom="selector")
    assert (current.status_code, current.json()["errorCode"]) == (404, "NOT_FOUND")


@pytest.mark.promise(
    "identity, endpoints: all take a Bearer token but login, social login, register, refresh and the reset; each asks "
    "for its permission"
)
@pytest.mark.promise("identity, errors: FORBIDDEN 403")
async def test_without_its_permission_an_endpoint_is_closed(app: TestApp) -> None:
    await app.make_role("acme", "Nothing", [])
    await app.make_user("acme", "nothing@acme.example", ["Nothing"])
    await app.login("nothing", "nothing@acme.example")
    for endpoint in table(app):
        if endpoint.policy.permission is None:
            continue
        answer = await app.call(
            endpoint.method, concrete(endpoint), as_whom="nothing", json={} if endpoint.has_body else None
        )
        assert answer.status_code == 403, endpoint


@pytest.mark.parametrize(("method", "body"), [("GET", None), ("PUT", {"price": 1}), ("PATCH", {}), ("DELETE", None)])
async def test_a_row_of_another_tenant_is_not_found(app: TestApp, method: str, body: object) -> None:
    made = await app.call("POST", "/api/products", as_whom="acme", json=LAMP)
    foreign = await app.call(method, made.headers["Location"], as_whom="other", json=body)
    unknown = await app.call(method, f"/api/products/{UNKNOWN}", as_whom="other", json=body)
    assert foreign.status_code == unknown.status_code == 404
    foreign_error, unknown_error = foreign.json()["error"], unknown.json()["error"]
    assert {**foreign_error, "traceId": ""} == {**unknown_error, "traceId": ""}
    listed = await app.call("GET", "/api/products", as_whom="other")
    assert listed.json()["data"]["totalCount"] == 0
