"""``X-Tenant-Scope``: super-admins beyond their own tenant, each time written down."""

import httpx
import pytest

from tests.http.app import Json, Place

LAMP = {"name": "Lamp", "sku": "LAMP-1", "price": 19.99}
UNKNOWN = "01900000-0000-7000-8000-000000000000"


async def call(
    place: Place, method: str, path: str, scope: str, *, whom: str = "root", json: object = None
) -> httpx.Response:
    return await place.call(method, path, as_whom=whom, json=json, headers={"X-Tenant-Scope": scope})


async def tenants(place: Place) -> Json:
    listed = (await place.call("GET", "/api/tenants", as_whom="root")).json()["data"]["items"]
    return {one["identifier"]: one["id"] for one in listed}


async def lamps(place: Place) -> Json:
    made = {}
    for whom in ("acme", "other"):
        made[whom] = (await place.call("POST", "/api/products", as_whom=whom, json=LAMP)).headers["Location"]
    return made


async def test_all_reads_over_all_tenants(place: Place) -> None:
    paths, ids = await lamps(place), await tenants(place)
    listed = (await call(place, "GET", "/api/products", "all")).json()["data"]
    assert {one["tenantId"] for one in listed["items"]} == {ids["acme"], ids["other"]}
    assert listed["totalCount"] == 2
    read = await call(place, "GET", paths["other"], "all")
    assert read.json()["data"]["tenantId"] == ids["other"]
    plain = await place.call("GET", "/api/products", as_whom="root")
    assert plain.json()["data"]["totalCount"] == 0


async def test_a_tenants_id_acts_in_that_one(place: Place) -> None:
    paths, ids = await lamps(place), await tenants(place)
    here = ids["other"]
    listed = (await call(place, "GET", "/api/products", here)).json()["data"]
    assert [one["id"] for one in listed["items"]] == [paths["other"].rpartition("/")[2]]
    assert (await call(place, "GET", paths["acme"], here)).status_code == 404
    assert (await call(place, "PUT", paths["other"], here, json={"stock": 3})).json()["data"]["stock"] == 3
    made = await call(place, "POST", "/api/products", here, json={**LAMP, "sku": "LAMP-2"})
    assert (await place.call("GET", made.headers["Location"], as_whom="other")).status_code == 200
    items = {"items": [{**LAMP, "sku": "LAMP-3"}]}
    assert (await call(place, "POST", "/api/products/batch", here, json=items)).status_code == 200
    assert (await call(place, "DELETE", paths["other"], here)).status_code == 204
    assert (await call(place, "POST", f"{paths['other']}/restore", here)).status_code == 200
    body = {"name": "Books"}
    category = (await call(place, "POST", "/api/categories", here, json=body)).headers["Location"]
    assert (await call(place, "GET", f"{category}/history", here)).json()["data"]["totalCount"] == 1
    assert (await call(place, "GET", f"{category}/history", "all")).json()["data"]["totalCount"] == 1


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
async def test_nothing_is_written_in_all_tenants(place: Place, method: str, path: str, body: object) -> None:
    answer = await call(place, method, path, "all", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "BAD_REQUEST")


@pytest.mark.parametrize("scope", ["", "ALL", "x", "all,all", UNKNOWN[:-1], UNKNOWN.replace("-", "")])
async def test_what_is_no_scope_is_malformed(place: Place, scope: str) -> None:
    answer = await call(place, "GET", "/api/products", scope)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "BAD_REQUEST")


@pytest.mark.parametrize("scope", ["all", UNKNOWN, "x", ""])
async def test_from_anyone_else_it_is_forbidden(place: Place, scope: str) -> None:
    """Before the body is looked at, and whatever it names: their own tenant as well."""
    for whom, method, body in (("acme", "GET", None), ("reader", "GET", None), ("acme", "POST", {"x": 1})):
        answer = await call(place, method, "/api/products", scope, whom=whom, json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN")
    own = (await tenants(place))["acme"]
    assert (await call(place, "GET", "/api/products", own, whom="acme")).status_code == 403


async def test_a_tenant_that_is_not_there_is_not_found(place: Place) -> None:
    for method, body in (("GET", None), ("POST", LAMP)):
        answer = await call(place, method, "/api/products", UNKNOWN, json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")


async def test_each_use_is_in_the_audit_trail(place: Place) -> None:
    ids = await tenants(place)
    await call(place, "GET", "/api/products", "all")
    await call(place, "GET", f"/api/products/{UNKNOWN}", ids["acme"])
    await call(place, "POST", "/api/products", ids["acme"], json=LAMP)
    lines = (await call(place, "GET", "/api/audit-events?action.startsWith=tenant-scope.", "all")).json()["data"]
    told = [(one["action"], one["tenantId"], one["targetId"]) for one in reversed(lines["items"])]
    assert told == [
        ("tenant-scope.products.page", ids["system"], None),
        ("tenant-scope.products.read", ids["acme"], ids["acme"]),
        ("tenant-scope.products.create", ids["acme"], ids["acme"]),
        ("tenant-scope.audit-events.page", ids["system"], None),
    ]
    seen = (await place.call("GET", "/api/audit-events", as_whom="acme")).json()["data"]["items"]
    assert "tenant-scope.products.create" in {one["action"] for one in seen}
