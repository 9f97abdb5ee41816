"""Applications as the Admin of a tenant sees them: those that the tenant may use, and no id of another tenant."""

from typing import Any

import pytest

from tests.http.app import TestApp
from tests.http.identity.service_accounts.service_accounts import make_account, make_key
from tests.http.two_tenants import SYSTEM, TwoTenants

UNKNOWN = "01900000-0000-7000-8000-000000000000"
FIELD = "allowedTenantIds"


@pytest.fixture
async def ids(app: TestApp) -> dict[str, str]:
    """Applications by the tenants that may use them."""
    body = {}
    for whom in ("acme", "other"):
        tenants = (await app.call("GET", "/api/auth/me/complete", as_whom=whom)).json()["data"]["tenants"]
        body[whom] = [tenants[0]["id"]]
    made = {}
    for name, tenants in {**body, "both": [*body["acme"], *body["other"]], "all": None, "none": []}.items():
        new = {"appId": name, "name": f"App {name}", "redirectUrls": [f"https://{name}.example/in"], FIELD: tenants}
        answer = await app.call("POST", "/api/applications", as_whom="root", json=new)
        assert answer.status_code == 201, answer.text
        made[name] = answer.json()["data"]["id"]
    return made


async def listed(app: TestApp, whom: str, query: str = "", **headers: str) -> list[dict[str, Any]]:
    answer = await app.call("GET", f"/api/applications?sort=appId{query}", as_whom=whom, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.json()["data"]["totalCount"] == len(answer.json()["data"]["items"])
    items: list[dict[str, Any]] = answer.json()["data"]["items"]
    return items


@pytest.mark.promise("identity, applications: an Admin sees those that the tenant may use, a super-admin all")
@pytest.mark.parametrize(("whom", "seen"), [("acme", ["acme", "all", "both"]), ("other", ["all", "both", "other"])])
async def test_an_admin_sees_the_applications_that_the_tenant_may_use(
    app: TestApp, ids: dict[str, str], whom: str, seen: list[str]
) -> None:
    rows = await listed(app, whom)
    assert [row["appId"] for row in rows] == seen
    assert not [row for row in rows if FIELD in row]
    unknown = await app.call("GET", f"/api/applications/{UNKNOWN}", as_whom=whom)
    for name, row_id in ids.items():
        answer = await app.call("GET", f"/api/applications/{row_id}", as_whom=whom)
        if name in seen:
            assert (answer.status_code, FIELD in answer.json()["data"]) == (200, False)
        else:
            assert (answer.status_code, answer.json()["error"]["message"]) == (404, unknown.json()["error"]["message"])
    for form in ("csv", "json"):
        export = await app.call("GET", f"/api/applications/export?format={form}", as_whom=whom)
        assert [name for name in sorted(ids) if f"App {name}" in export.text] == seen
        assert FIELD not in export.text


@pytest.mark.parametrize(
    "query", [f"{FIELD}.isNull=true", f"fields={FIELD}", f"sort={FIELD}", f"{FIELD}={UNKNOWN}", f"{FIELD}.ne={UNKNOWN}"]
)
@pytest.mark.parametrize("path", ["", "/export"])
async def test_the_tenants_of_an_application_do_not_exist_for_an_admin(app: TestApp, path: str, query: str) -> None:
    refused = await app.call("GET", f"/api/applications{path}?{query}", as_whom="acme")
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
    unknown = await app.call("GET", f"/api/applications{path}?{query.replace(FIELD, 'nowhere')}", as_whom="acme")
    told, expected = (answer.json()["error"]["details"][0]["message"] for answer in (refused, unknown))
    assert told == expected.replace("nowhere", FIELD)


@pytest.mark.parametrize("query", [f"{FIELD}.isNull=true", f"fields={FIELD}"])
async def test_a_super_admin_asks_for_the_tenants_of_an_application(app: TestApp, query: str) -> None:
    assert (await app.call("GET", f"/api/applications?{query}", as_whom="root")).status_code == 200


async def test_the_description_has_the_field_for_super_admins_only(app: TestApp) -> None:
    for whom, is_told in (("acme", False), ("root", True)):
        entities = (await app.call("GET", "/api/entities", as_whom=whom)).json()["data"]["entities"]
        (described,) = [entity for entity in entities if entity["plural"] == "applications"]
        assert (FIELD in {field["name"] for field in described["fields"]}) is is_told


@pytest.mark.promise("identity, applications: an Admin sees those that the tenant may use, a super-admin all")
async def test_a_super_admin_sees_every_application_in_any_tenant(app: TestApp, ids: dict[str, str]) -> None:
    for whom, headers in (
        ("root", {}),
        ("root in acme", {}),
        ("root", {"X-Tenant-Scope": "all"}),
        ("root", {"X-Tenant-Scope": SYSTEM}),
    ):
        rows = await listed(app, whom, **headers)
        assert {row["appId"]: row["id"] for row in rows} == ids
        assert {row["appId"]: row[FIELD] for row in rows}["none"] == []


async def test_an_admin_writes_no_application(app: TestApp, ids: dict[str, str]) -> None:
    for name in ("acme", "other"):
        body = {"name": "Mine"}
        assert (await app.call("PUT", f"/api/applications/{ids[name]}", as_whom="acme", json=body)).status_code == 403
        assert (await app.call("DELETE", f"/api/applications/{ids[name]}", as_whom="acme")).status_code == 403
    new = {"appId": "new", "name": "New"}
    assert (await app.call("POST", "/api/applications", as_whom="acme", json=new)).status_code == 403


async def test_a_changed_list_of_tenants_counts_at_once(app: TestApp, ids: dict[str, str]) -> None:
    path = f"/api/applications/{ids['other']}"
    assert (await app.call("GET", path, as_whom="acme")).status_code == 404
    shared = await app.call("PUT", path, as_whom="root", json={FIELD: None})
    assert (shared.status_code, shared.json()["data"][FIELD]) == (200, None)
    shown = await app.call("GET", path, as_whom="acme")
    tagged = {"If-None-Match": shown.headers["etag"]}
    assert (await app.call("GET", path, as_whom="acme", headers=tagged)).status_code in (200, 304)
    await app.call("PUT", path, as_whom="root", json={FIELD: []})
    assert (await app.call("GET", path, as_whom="acme", headers=tagged)).status_code == 404


@pytest.mark.promise("keys, impersonation: a key sets no owner and writes no application")
async def test_the_key_of_a_super_admin_reads_applications_and_writes_none(tenants: TwoTenants) -> None:
    """A registered redirect address receives the sessions of people who log in there."""
    await make_key(tenants, await make_account(tenants, whom="root", roles=["SuperAdmin"]), whom="root", name="robot")
    new = {"appId": "shop", "name": "Shop", "redirectUrls": ["https://shop.example/in"]}
    made = await tenants.call("root", "POST", "/api/applications", new)
    assert made.status_code == 201
    path, row = made.headers["location"], made.json()["data"]
    assert (await tenants.call("robot", "GET", path)).json()["data"] == row
    for method, where, body in (
        ("POST", "/api/applications", {**new, "appId": "other"}),
        ("PUT", path, {"redirectUrls": ["https://thief.example/in"]}),
        ("DELETE", path, None),
        ("POST", f"{path}/restore", None),
        ("POST", "/api/applications/batch", {"items": [{**new, "appId": "other"}]}),
        ("PUT", "/api/applications/batch", {"items": [{"id": row["id"], "isActive": False}]}),
        ("DELETE", "/api/applications/batch", {"ids": [row["id"]]}),
        ("POST", "/api/applications/import", None),
        ("POST", "/api/applications/batch/upsert", {"key": "appId", "items": [new]}),
        ("POST", "/api/operations", {"operations": [{"op": "create", "entity": "applications", "values": new}]}),
    ):
        assert (await tenants.call("robot", method, where, body)).status_code == 403, (method, where)
    assert (await tenants.call("root", "GET", path)).json()["data"] == row
    made = await tenants.call("robot", "POST", "/api/categories", {"name": "Lamps"})
    assert made.status_code == 201, made.text
