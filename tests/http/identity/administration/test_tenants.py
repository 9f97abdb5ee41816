"""/api/tenants on the wire: every field of every answer.

/api/tenants/current/settings: what a tenant's own administrators change.
"""

import asyncio
from uuid import UUID

import pytest

from adapters.memory.database import MemoryDatabase
from tests.http.app import ADMIN, Json
from tests.http.identity.factors.steps import PAGE, SYSTEM, claims_of, log_in
from tests.http.two_tenants import TwoTenants

TENANT = {"id", "name", "identifier", "domain", "isActive", "createdAt", "settings"}
SETTINGS = {"timezone", "language", "currency", "enabledFeatures", "customSettings"}


@pytest.mark.promise("POST /api/tenants")
@pytest.mark.promise("GET /api/tenants/{tenant_id}")
@pytest.mark.promise("PUT /api/tenants/{tenant_id}")
@pytest.mark.promise("DELETE /api/tenants/{tenant_id}")
@pytest.mark.promise("identity, fields: Tenant, with settings and their defaults; features is enabledFeatures")
async def test_a_tenant_is_made_read_changed_and_deleted(tenants: TwoTenants) -> None:
    settings = {"timezone": "Europe/Berlin", "language": "de-DE", "features": ["exports"]}
    made = await tenants.call(
        "root",
        "POST",
        "/api/tenants",
        {"name": "New", "identifier": "fresh", "domain": "new.example", "settings": settings},
    )
    data = made.json()["data"]
    path = f"/api/tenants/{data['id']}"
    assert (made.status_code, made.headers["Location"]) == (201, path)
    assert (data.keys(), data["settings"].keys(), data["isActive"]) == (TENANT, SETTINGS, True)
    assert (data["settings"]["enabledFeatures"], data["settings"]["currency"]) == (["exports"], "USD")
    assert (await tenants.call("root", "GET", path)).json()["data"] == data
    changed = (await tenants.call("root", "PUT", path, {"isActive": False, "name": "Newer"})).json()["data"]
    assert (changed["isActive"], changed["name"], changed["domain"]) == (False, "Newer", "new.example")
    gone = await tenants.call("root", "DELETE", path)
    assert (gone.status_code, gone.json().keys()) == (200, {"isSuccess", "message"})
    assert (await tenants.call("root", "GET", path)).status_code == 404


async def test_below_a_deleted_tenant_everything_is_not_found(tenants: TwoTenants) -> None:
    path, member = f"/api/tenants/{tenants.tenants['acme']}", tenants.users["member"]
    assert (await tenants.call("root", "DELETE", path)).status_code == 200
    for method, below, body in (
        ("GET", "users", None),
        ("POST", "users", {"userId": member, "roles": []}),
        ("PUT", f"users/{member}", {"isOwner": True}),
        ("DELETE", f"users/{member}", None),
    ):
        answer = await tenants.call("root", method, f"{path}/{below}", body)
        assert (answer.status_code, answer.json()["errorCode"]) == (404, "NOT_FOUND"), method


async def test_the_deletion_of_the_default_tenant_leaves_a_default(tenants: TwoTenants) -> None:
    acme, other, member = tenants.tenants["acme"], tenants.tenants["other"], tenants.users["member"]
    await tenants.call("root", "POST", f"/api/tenants/{other}/users", {"userId": member, "roles": []})
    await tenants.call("root", "DELETE", f"/api/tenants/{acme}")
    current = (await log_in(tenants, "member"))["currentTenant"]
    assert (current["id"], current["isDefault"]) == (other, True)


async def test_a_role_held_only_in_a_deleted_tenant_can_be_deleted(tenants: TwoTenants) -> None:
    acme, member = tenants.tenants["acme"], tenants.users["member"]
    made = (
        await tenants.call("root", "POST", "/api/roles", {"name": "Shared", "permissions": ["read:products"]})
    ).json()
    held = {"userId": member, "roles": ["Shared"]}
    await tenants.call("root", "POST", f"/api/tenants/{acme}/users", held)
    path = f"/api/roles/{made['data']['id']}"
    assert (await tenants.call("root", "DELETE", path)).status_code == 409
    await tenants.call("root", "DELETE", f"/api/tenants/{acme}")
    assert (await tenants.call("root", "DELETE", path)).status_code == 200


async def test_every_wrong_field_of_a_tenant_is_named(tenants: TwoTenants) -> None:
    wrong = {"name": "n" * 201, "identifier": "a", "domain": "d" * 254}
    answer = await tenants.call("root", "POST", "/api/tenants", wrong)
    assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (400, list(wrong))
    path = f"/api/tenants/{tenants.tenants['acme']}"
    for domain, status in (("", 400), ("d" * 254, 400), ("d", 200), ("d" * 253, 200)):
        assert (await tenants.call("root", "PUT", path, {"domain": domain})).status_code == status, domain


@pytest.mark.promise("GET /api/tenants")
async def test_tenants_are_listed_in_the_envelope(tenants: TwoTenants) -> None:
    listed = (await tenants.call("root", "GET", "/api/tenants?sortBy=identifier&sortDirection=asc&search=a")).json()
    assert listed.keys() == {"isSuccess", "data"}
    assert listed["data"].keys() == PAGE
    assert listed["data"]["items"][0].keys() == TENANT
    assert [tenant["identifier"] for tenant in listed["data"]["items"]] == ["acme"]


@pytest.mark.promise("GET /api/tenants/current")
@pytest.mark.promise("identity, fields: Tenant, with settings and their defaults; features is enabledFeatures")
async def test_settings_have_their_defaults(tenants: TwoTenants) -> None:
    current = (await tenants.call("admin", "GET", "/api/tenants/current")).json()["data"]
    assert (current.keys(), current["id"]) == (TENANT, tenants.tenants["acme"])
    assert current["settings"] == {
        "timezone": "UTC", "language": "en-US", "currency": "USD", "enabledFeatures": [], "customSettings": {},
    }  # fmt: skip


@pytest.mark.promise("DELETE /api/tenants/{tenant_id}")
@pytest.mark.promise("identity, administration: system stays; identifiers are unique among the living")
async def test_the_tenant_system_stays(tenants: TwoTenants) -> None:
    for method, body in (("DELETE", None), ("PUT", {"isActive": False}), ("PUT", {"identifier": "other-name"})):
        answer = await tenants.call("root", method, f"/api/tenants/{SYSTEM}", body)
        assert (answer.status_code, answer.json()["errorCode"]) == (409, "CONFLICT")


async def test_entering_a_tenant_is_recorded_once_in_its_audit_trail(tenants: TwoTenants) -> None:
    """Once, by a refresh that names the tenant as well as by a switch."""
    app, acme, path = tenants.app, tenants.tenants["acme"], "/api/audit-events?action=tenant.switched"
    before = len((await app.call("GET", path, as_whom="root in acme")).json()["data"]["items"])
    data = await app.login("visitor", ADMIN, SYSTEM)
    for _ in range(2):
        body = {"refreshToken": data["refreshToken"], "tenantId": acme}
        data = (await app.call("POST", "/api/auth/refresh", json=body)).json()["data"]
    app.tokens["visitor"] = data["token"]
    lines = (await app.call("GET", path, as_whom="visitor")).json()["data"]["items"]
    assert len(lines) == before + 1
    assert lines[0]["actorId"] == claims_of(app.tokens["visitor"])["sub"]


PATH = "/api/tenants/current/settings"
NO_BRANDING = {"name": None, "logoUrl": None, "primaryColor": None, "supportEmail": None}
BRANDING = {
    "name": "Acme Tools",
    "logoUrl": "https://acme.example/logo.svg",
    "primaryColor": "#00458b",
    "supportEmail": "help@acme.example",
}


async def change(tenants: TwoTenants, body: Json, whom: str = "admin") -> Json:
    answer = await tenants.call(whom, "PUT", PATH, body)
    assert answer.status_code == 200, answer.text
    data: Json = answer.json()["data"]
    return data


@pytest.mark.promise("GET /api/tenants/current/settings")
@pytest.mark.promise("PUT /api/tenants/current/settings")
async def test_settings_have_defaults_and_retain_omitted_values(tenants: TwoTenants) -> None:
    defaults = (await tenants.call("admin", "GET", PATH)).json()["data"]
    assert defaults["security"]["requireMfa"] is False
    assert {name: value for name, value in defaults.items() if name != "security"} == {
        "timezone": "UTC",
        "language": "en-US",
        "currency": "USD",
        "enabledFeatures": [],
        "customSettings": {},
        "branding": NO_BRANDING,
    }
    changed = await change(tenants, {"timezone": "Europe/Berlin", "branding": BRANDING})
    assert changed == {**defaults, "timezone": "Europe/Berlin", "branding": BRANDING}
    changed = await change(tenants, {"customSettings": {"a": [1]}, "branding": {"name": None, "logoUrl": ""}})
    assert changed["branding"] == {**BRANDING, "name": None, "logoUrl": None}
    assert (changed["timezone"], changed["customSettings"]) == ("Europe/Berlin", {"a": [1]})
    assert (await tenants.call("admin", "GET", PATH)).json()["data"] == changed
    assert (await tenants.call("stranger", "GET", PATH)).json()["data"] == defaults


async def test_a_tenant_without_branding_has_no_branding_in_its_settings(tenants: TwoTenants) -> None:
    settings = (await tenants.call("admin", "GET", "/api/tenants/current")).json()["data"]["settings"]
    assert "branding" not in settings
    await change(tenants, {"branding": BRANDING})
    settings = (await tenants.call("admin", "GET", "/api/tenants/current")).json()["data"]["settings"]
    assert settings["branding"] == BRANDING


@pytest.mark.promise("PUT /api/tenants/current/settings")
@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"timezone": "Mars/Olympus", "language": ""}, ["language"]),
        ({"timezone": "Mars/Olympus"}, ["timezone"]),
        ({"currency": "x" * 101}, ["currency"]),
        ({"branding": {"name": "x" * 61}}, ["branding.name"]),
        ({"branding": {"logoUrl": "javascript:alert(1)"}}, ["branding.logoUrl"]),
        ({"branding": {"primaryColor": "red;}body{"}}, ["branding.primaryColor"]),
        ({"branding": {"supportEmail": "x"}}, ["branding.supportEmail"]),
        ({"branding": {"primaryColor": "blue", "name": "a\u202eb"}}, ["branding.name", "branding.primaryColor"]),
        ({"features": ["exports"]}, ["features"]),
        ({"enabledFeatures": ["exports"]}, ["enabledFeatures"]),
        ({"quotas": {}}, ["quotas"]),
    ],
)
async def test_what_is_wrong_is_named(tenants: TwoTenants, body: Json, fields: list[str]) -> None:
    answer = await tenants.call("admin", "PUT", PATH, body)
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == fields


async def test_a_text_has_1_to_100_characters(tenants: TwoTenants) -> None:
    for text in ("x", "x" * 100):
        assert (await change(tenants, {"currency": text, "language": text}))["currency"] == text


async def test_the_audit_trail_names_changed_settings_without_their_values(tenants: TwoTenants) -> None:
    await change(tenants, {"customSettings": {"secret": "hunter2"}, "branding": BRANDING, "currency": "USD"})
    await change(tenants, {"currency": "USD"})
    database = tenants.app.adapters.database
    assert isinstance(database, MemoryDatabase)
    rows = database.committed().tables["audit_events"].values()
    mine = [row for row in rows if row["tenant_id"] == UUID(tenants.tenants["acme"])]
    settings = [row["action"] for row in mine if str(row["action"]).startswith("settings.")]
    assert settings == ["settings.changed:customSettings,branding"]
    assert "hunter2" not in str(mine)


async def test_changes_at_once_lose_nothing(tenants: TwoTenants) -> None:
    await asyncio.gather(
        change(tenants, {"currency": "EUR"}),
        change(tenants, {"language": "de-DE"}),
        change(tenants, {"branding": {"name": "Acme"}}),
    )
    now = (await tenants.call("admin", "GET", PATH)).json()["data"]
    assert (now["currency"], now["language"], now["branding"]["name"]) == ("EUR", "de-DE", "Acme")
