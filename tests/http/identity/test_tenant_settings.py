"""/api/tenants/current/settings: what a tenant's own administrators change."""

import asyncio
from uuid import UUID

import pytest

from adapters.memory.database import MemoryDatabase
from tests.http.app import Json
from tests.http.two_tenants import TwoTenants

PATH = "/api/tenants/current/settings"
NO_BRANDING = {"name": None, "logoUrl": None, "primaryColor": None, "supportEmail": None}
NO_SECURITY = {
    "requireMfa": False,
    "mfaMethods": [],
    "mfaGraceDays": 0,
    "sessionDays": None,
    "idleDays": None,
    "requiredSince": None,
}
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


async def test_settings_have_defaults_and_keep_what_is_left_out(tenants: TwoTenants) -> None:
    defaults = (await tenants.call("admin", "GET", PATH)).json()["data"]
    assert defaults == {
        "timezone": "UTC",
        "language": "en-US",
        "currency": "USD",
        "enabledFeatures": [],
        "customSettings": {},
        "branding": NO_BRANDING,
        "security": NO_SECURITY,
    }
    changed = await change(tenants, {"timezone": "Europe/Berlin", "branding": BRANDING})
    assert changed == {**defaults, "timezone": "Europe/Berlin", "branding": BRANDING}
    changed = await change(tenants, {"customSettings": {"a": [1]}, "branding": {"name": None, "logoUrl": ""}})
    assert changed["branding"] == {**BRANDING, "name": None, "logoUrl": None}
    assert (changed["timezone"], changed["customSettings"]) == ("Europe/Berlin", {"a": [1]})
    assert (await tenants.call("admin", "GET", PATH)).json()["data"] == changed
    assert (await tenants.call("stranger", "GET", PATH)).json()["data"] == defaults


async def test_a_tenant_that_sets_no_branding_is_answered_as_ever(tenants: TwoTenants) -> None:
    settings = (await tenants.call("admin", "GET", "/api/tenants/current")).json()["data"]["settings"]
    assert "branding" not in settings
    await change(tenants, {"branding": BRANDING})
    settings = (await tenants.call("admin", "GET", "/api/tenants/current")).json()["data"]["settings"]
    assert settings["branding"] == BRANDING


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
        ({"security": {"sessionDays": 31, "idleDays": 8}}, ["security.sessionDays", "security.idleDays"]),
        ({"security": {"sessionDays": 0, "mfaGraceDays": 91}}, ["security.mfaGraceDays", "security.sessionDays"]),
        ({"security": {"requiredSince": None}}, ["security"]),
        ({"security": {"mfaMethods": ["sms"]}}, ["security.mfaMethods[0]"]),
        ({"features": ["exports"]}, ["features"]),
        ({"enabledFeatures": ["exports"]}, ["enabledFeatures"]),
        ({"quotas": {}}, ["quotas"]),
    ],
)
async def test_what_is_wrong_is_named(tenants: TwoTenants, body: Json, fields: list[str]) -> None:
    answer = await tenants.call("admin", "PUT", PATH, body)
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == fields


async def test_the_trail_names_what_changed_and_never_to_what(tenants: TwoTenants) -> None:
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


async def test_a_change_of_security_makes_the_tenants_tokens_stale_at_once(tenants: TwoTenants) -> None:
    changed = await change(tenants, {"security": {"requireMfa": True, "mfaGraceDays": 7, "sessionDays": 5}})
    since = changed["security"]["requiredSince"]
    assert changed["security"] == {
        **NO_SECURITY,
        "requireMfa": True,
        "mfaGraceDays": 7,
        "sessionDays": 5,
        "requiredSince": since,
    }
    assert since is not None
    for whom in ("admin", "clerk", "root in acme"):
        stale = await tenants.call(whom, "GET", "/api/auth/me")
        assert (stale.status_code, stale.json()["errorCode"]) == (401, "TOKEN_EXPIRED"), whom
    assert (await tenants.call("stranger", "GET", "/api/auth/me")).status_code == 200


async def test_what_is_the_same_as_before_makes_no_token_stale(tenants: TwoTenants) -> None:
    await change(tenants, {"security": {"requireMfa": False, "idleDays": None}, "currency": "EUR"})
    assert (await tenants.call("admin", "GET", "/api/auth/me")).status_code == 200
    await change(tenants, {"branding": BRANDING})
    assert (await tenants.call("admin", "GET", "/api/auth/me")).status_code == 200
