"""``X-Tenant-Scope``: super-admins beyond their own tenant, each time written down."""

import httpx
import pytest

from tests.http.app import Json, TestApp

LAMP = {"name": "Lamp", "sku": "LAMP-1", "price": 19.99}
UNKNOWN = "01900000-0000-7000-8000-000000000000"


async def call(
    app: TestApp, method: str, path: str, scope: str, *, whom: str = "root", json: object = None
) -> httpx.Response:
    return await app.call(method, path, as_whom=whom, json=json, headers={"X-Tenant-Scope": scope})


async def tenants(app: TestApp) -> Json:
    listed = (await app.call("GET", "/api/tenants", as_whom="root")).json()["data"]["items"]
    return {tenant["identifier"]: tenant["id"] for tenant in listed}


async def lamps(app: TestApp) -> Json:
    made = {}
    for whom in ("acme", "other"):
        made[whom] = (await app.call("POST", "/api/products", as_whom=whom, json=LAMP)).headers["Location"]
    return made


@pytest.mark.promise("entities, details: X-Tenant-Scope: explicit, audited, 403 from anyone else")
@pytest.mark.promise("identity, administration: the bypass, and its trail")
async def test_all_reads_over_all_tenants(app: TestApp) -> None:
    paths, ids = await lamps(app), await tenants(app)
    listed = (await call(app, "GET", "/api/products", "all")).json()["data"]
    assert {item["tenantId"] for item in listed["items"]} == {ids["acme"], ids["other"]}
    assert listed["totalCount"] == 2
    read = await call(app, "GET", paths["other"], "all")
    assert read.json()["data"]["tenantId"] == ids["other"]
    plain = await app.call("GET", "/api/products", as_whom="root")
    assert plain.json()["data"]["totalCount"] == 0


async def test_a_tenants_id_acts_in_that_one(app: TestApp) -> None:
    paths, ids = await lamps(app), await tenants(app)
    here = ids["other"]
    listed = (await call(app, "GET", "/api/products", here)).json()["data"]
    assert [item["id"] for item in listed["items"]] == [paths["other"].rpartition("/")[2]]
    assert (await call(app, "GET", paths["acme"], here)).status_code == 404
    assert (await call(app, "PUT", paths["other"], here, json={"stock": 3})).json()["data"]["stock"] == 3
    made = await call(app, "POST", "/api/products", here, json={**LAMP, "sku": "LAMP-2"})
    assert (await app.call("GET", made.headers["Location"], as_whom="other")).status_code == 200
    items = {"items": [{**LAMP, "sku": "LAMP-3"}]}
    assert (await call(app, "POST", "/api/products/batch", here, json=items)).status_code == 200
    assert (await call(app, "DELETE", paths["other"], here)).status_code == 204
    assert (await call(app, "POST", f"{paths['other']}/restore", here)).status_code == 200
    body = {"name": "Books"}
    category = (await call(app, "POST", "/api/categories", here, json=body)).headers["Location"]
    assert (await call(app, "GET", f"{category}/history", here)).json()["data"]["totalCount"] == 1
    assert (await call(app, "GET", f"{category}/history", "all")).json()["data"]["totalCount"] == 1


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/products", LAMP),
        ("POST", "/api/products", {"x": 1}),
        ("PUT", f"/api/products/{UNKNOWN}", {}),
        ("PATCH", f"/api/products/{UNKNOWN}", {}),
        ("DELETE", f"/api/products/{UNKNOWN}", None),
        ("POST", f"/api/products/{UNKNOWN}/restore", None),
        ("POST", "/api/products/batch", {"items": [LAMP]}),
        ("POST", "/api/currencies", {"code": "EUR", "name": "Euro"}),
    ],
)
async def test_nothing_is_written_in_all_tenants(app: TestApp, method: str, path: str, body: object) -> None:
    answer = await call(app, method, path, "all", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "BAD_REQUEST")


@pytest.mark.parametrize("scope", ["", "ALL", "x", "all,all", UNKNOWN[:-1], UNKNOWN.replace("-", "")])
async def test_an_invalid_tenant_scope_is_malformed(app: TestApp, scope: str) -> None:
    answer = await call(app, "GET", "/api/products", scope)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "BAD_REQUEST")


@pytest.mark.promise("entities, details: X-Tenant-Scope: explicit, audited, 403 from anyone else")
@pytest.mark.parametrize("scope", ["all", UNKNOWN, "x", ""])
async def test_from_anyone_else_it_is_forbidden(app: TestApp, scope: str) -> None:
    """Before the body is looked at, and whatever it names: their own tenant as well."""
    for whom, method, body in (("acme", "GET", None), ("reader", "GET", None), ("acme", "POST", {"x": 1})):
        answer = await call(app, method, "/api/products", scope, whom=whom, json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN")
    own = (await tenants(app))["acme"]
    assert (await call(app, "GET", "/api/products", own, whom="acme")).status_code == 403


async def test_a_tenant_that_is_not_there_is_not_found(app: TestApp) -> None:
    for method, body in (("GET", None), ("POST", LAMP)):
        answer = await call(app, method, "/api/products", UNKNOWN, json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")


@pytest.mark.promise("entities, details: X-Tenant-Scope: explicit, audited, 403 from anyone else")
@pytest.mark.promise("identity, administration: the bypass, and its trail")
async def test_each_use_is_in_the_audit_trail(app: TestApp) -> None:
    ids = await tenants(app)
    await call(app, "GET", "/api/products", "all")
    await call(app, "GET", f"/api/products/{UNKNOWN}", ids["acme"])
    await call(app, "POST", "/api/products", ids["acme"], json=LAMP)
    lines = (await call(app, "GET", "/api/audit-events?action.startsWith=tenant-scope.", "all")).json()["data"]
    told = [(event["action"], event["tenantId"], event["targetId"]) for event in reversed(lines["items"])]
    assert told == [
        ("tenant-scope.products.page", ids["system"], None),
        ("tenant-scope.products.read", ids["acme"], ids["acme"]),
        ("tenant-scope.products.create", ids["acme"], ids["acme"]),
        ("tenant-scope.audit-events.page", ids["system"], None),
    ]
    seen = (await app.call("GET", "/api/audit-events", as_whom="acme")).json()["data"]["items"]
    assert "tenant-scope.products.create" in {event["action"] for event in seen}
