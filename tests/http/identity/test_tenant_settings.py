"""/api/tenants/current/settings: what a tenant's own administrators change."""

import asyncio
from uuid import UUID

import pytest

from adapters.memory.database import MemoryDatabase
from tests.http.app import Json
from tests.http.two_tenants import TwoTenants

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
async def test_settings_have_defaults_and_keep_what_is_left_out(tenants: TwoTenants) -> None:
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


async def test_a_tenant_that_sets_no_branding_is_answered_as_ever(tenants: TwoTenants) -> None:
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
