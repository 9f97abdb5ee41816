"""What the operator does to tenants, users and roles from the command line, and what the demo fills in."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from click.testing import CliRunner

from application.identity.administration.operator_accounts import OperatorAccounts
from application.identity.administration.tenant_forms import TenantPage
from domain.errors import NotFound, ValidationError
from domain.identity.identifiers import SYSTEM_IDENTIFIER
from domain.scope import EveryTenant
from entrypoints.cli.identity import administration, demo, domains, service_accounts
from entrypoints.cli.main import tenantry as commands
from entrypoints.cli.reports.settings_report import report
from entrypoints.terminal.errors import CommandError
from tests.builders import user
from tests.entrypoints.processes import Tenantry
from tests.http.app import ADMIN, TestApp, open_test_app

NEW_PASSWORD = "a wholly different sentence"


@pytest.fixture
async def app() -> TestApp:
    opened = await open_test_app(counts_limits=False)
    await opened.login("root", ADMIN)
    await opened.make_tenant("acme")
    await opened.make_user("acme", "ada@acme.example", ["Admin"])
    return opened


async def test_tenants_are_listed_made_closed_and_opened(app: TestApp) -> None:
    made = json.loads((await administration.create_tenant(app.services, "globex", None)).json)
    assert [(tenant["identifier"], tenant["name"]) for tenant in made] == [("globex", "globex")]
    assert "closed" in await administration.set_tenant_active(app.services, "globex", is_active=False)
    shown = {line.split()[0]: line.split()[2] for line in await _lines(app, "list_tenants")}
    assert shown == {"identifier": "isActive", "system": "yes", "acme": "yes", "globex": "no"}
    assert "open" in await administration.set_tenant_active(app.services, "globex", is_active=True)
    with pytest.raises(CommandError, match="no tenant 'initech'"):
        await administration.set_tenant_active(app.services, "initech", is_active=False)


async def _lines(app: TestApp, name: str) -> list[str]:
    text: str = await getattr(administration, name)(app.services)
    return text.splitlines()


async def test_a_closed_tenant_s_tokens_end(app: TestApp) -> None:
    await app.login("ada", "ada@acme.example")
    assert (await app.call("GET", "/api/products", as_whom="ada")).status_code == 200
    await administration.set_tenant_active(app.services, "acme", is_active=False)
    assert (await app.call("GET", "/api/products", as_whom="ada")).status_code == 401


async def test_every_page_is_asked_for(app: TestApp) -> None:
    made = [await app.make_tenant(f"tenant-{number}") for number in range(4)]
    asked: list[object] = []

    async def page(parameters: Sequence[tuple[str, str]]) -> TenantPage:
        asked.append(dict(parameters)["page"])
        return await app.services.tenants.page(parameters)

    found = await administration.every_page(page, size=2)
    assert {str(tenant.id) for tenant in found} >= set(made)
    assert len({tenant.id for tenant in found}) == len(found)
    assert asked == [str(number) for number in range(1, -(-len(found) // 2) + 1)]


async def test_users_are_listed_by_tenant_or_all_of_them(app: TestApp) -> None:
    for number in range(4):
        await administration.create_user(app.services, f"u{number}@acme.example", None, "acme", ["Member"], None)
    in_acme = json.loads((await administration.list_users(app.services, "acme")).json)
    assert {user["email"] for user in in_acme} == {
        "ada@acme.example",
        *(f"u{number}@acme.example" for number in range(4)),
    }
    everybody = await administration.list_users(app.services, None)
    listed = {user["email"]: user for user in json.loads(everybody.json)}
    assert len(listed) == len(in_acme) + 1
    assert not [user for user in in_acme if "tenantRoles" in user]
    assert (listed["u1@acme.example"]["roles"], listed["u1@acme.example"]["tenantRoles"]) == ([], ["acme:Member"])
    assert [user["tenantRoles"] for user in listed.values() if user["roles"] == ["SuperAdmin"]] == [[]]
    (line,) = [line for line in everybody.splitlines() if line.startswith("u1@acme.example")]
    assert "acme:Member" in line


@dataclass
class CountedAccounts:
    """The operator's use cases, with the numbers of users whose roles were asked for at once."""

    accounts: OperatorAccounts
    asked: list[int] = field(default_factory=list)

    async def roles_in_tenants(self, user_ids: Sequence[UUID]) -> dict[UUID, tuple[str, ...]]:
        self.asked.append(len(user_ids))
        return await self.accounts.roles_in_tenants(user_ids)


async def test_roles_in_tenants_are_asked_for_page_by_page(app: TestApp) -> None:
    async with app.adapters.database.transaction(EveryTenant()) as tx:
        for _ in range(administration.PAGE_SIZE):
            await tx.users.add(user())
    counted: Any = CountedAccounts(app.services.operator_accounts)
    listed = json.loads((await administration.list_users(replace(app.services, operator_accounts=counted), None)).json)
    assert counted.asked == [administration.PAGE_SIZE, len(listed) - administration.PAGE_SIZE]


async def test_a_user_made_by_the_operator_logs_in_with_the_printed_password(app: TestApp) -> None:
    said = await administration.create_user(app.services, "bo@acme.example", "Bo", "acme", ["Member"], None)
    found = re.search(r", and is (\S+)$", said)
    assert found, said
    body = {"email": "bo@acme.example", "password": found[1], "isPasswordEncrypted": False}
    data = (await app.call("POST", "/api/auth/login", json=body)).json()["data"]
    assert data["mustChangePassword"] is True
    assert data["isGlobal"] is False


async def test_a_new_password_ends_the_sessions_and_the_old_password(app: TestApp) -> None:
    await app.login("ada", "ada@acme.example")
    with pytest.raises(ValidationError):
        await administration.set_password(app.services, "ada@acme.example", "short")
    assert (await app.call("GET", "/api/auth/me", as_whom="ada")).status_code == 200
    assert NEW_PASSWORD not in await administration.set_password(app.services, "Ada@acme.example", NEW_PASSWORD)
    assert (await app.call("GET", "/api/auth/me", as_whom="ada")).status_code == 401
    body = {"email": "ada@acme.example", "password": NEW_PASSWORD, "isPasswordEncrypted": False}
    assert (await app.call("POST", "/api/auth/login", json=body)).status_code == 200
    with pytest.raises(NotFound):
        await administration.set_password(app.services, "nobody@acme.example", NEW_PASSWORD)


async def test_roles_are_granted_in_a_tenant_and_in_the_whole_service(app: TestApp) -> None:
    await administration.grant(app.services, "ada@acme.example", "acme", ["Member"])
    await app.login("ada", "ada@acme.example")
    assert (await app.call("GET", "/api/auth/me", as_whom="ada")).json()["data"]["roles"] == ["Member"]
    await administration.grant(app.services, "ada@acme.example", SYSTEM_IDENTIFIER, ["SuperAdmin"])
    await app.login("ada", "ada@acme.example")
    assert "SuperAdmin" in (await app.call("GET", "/api/auth/me", as_whom="ada")).json()["data"]["roles"]
    with pytest.raises(ValidationError):
        await administration.grant(app.services, "ada@acme.example", "acme", ["Nothing"])


@pytest.mark.parametrize("options", [(), ("--role", "Admin", "--no-roles")])
def test_a_grant_requires_roles_or_the_option_for_no_roles(options: tuple[str, ...]) -> None:
    refused = CliRunner().invoke(commands, ["users", "grant", "ada@acme.example", "--tenant", "acme", *options])
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert all(option in refused.stderr for option in ("--role", "--no-roles"))


async def test_a_grant_with_no_roles_removes_all_roles(app: TestApp) -> None:
    said = await administration.grant(app.services, "ada@acme.example", "acme", [])
    assert said == "ada@acme.example has no roles in acme now. Its tokens there are refreshed."
    (ada,) = json.loads((await administration.list_users(app.services, "acme")).json)
    assert ada["roles"] == []


async def test_roles_of_a_tenant_are_listed(app: TestApp) -> None:
    roles = json.loads((await administration.list_roles(app.services, "acme")).json)
    assert {"Admin", "Member"} <= {role["name"] for role in roles}


async def test_service_accounts_and_keys_are_made_and_listed(app: TestApp) -> None:
    made = json.loads((await service_accounts.create_service_account(app.services, "Import", "acme", ["Member"])).json)
    assert [(account["name"], account["createdBy"]) for account in made] == [("Import", None)]
    told = await service_accounts.create_key(app.services, "import", "acme", "nightly")
    key = told.split()[-1]
    assert (await app.client.get("/api/auth/me", headers={"Authorization": f"Bearer {key}"})).status_code == 200
    keys = json.loads((await service_accounts.list_keys(app.services, "Import", "acme")).json)
    assert [(listed["name"], listed["start"]) for listed in keys] == [("nightly", key[:12])]
    table = await service_accounts.list_service_accounts(app.services, "acme")
    assert re.search(r"Import +Member +yes +1 ", table)
    with pytest.raises(CommandError, match="no service account 'Export'"):
        await service_accounts.list_keys(app.services, "Export", "acme")


async def test_an_unknown_domain_is_reported_with_its_tenant(app: TestApp) -> None:
    for command in (domains.verify_domain, domains.remove_domain):
        with pytest.raises(CommandError) as refused:
            await command(app.services, "acme.example", "acme")
        assert str(refused.value) == (
            "The tenant acme has no domain acme.example: `tenantry domains list --tenant acme` shows all of them."
        )


def test_settings_are_shown_with_their_source_and_secrets_are_not(tmp_path: Path) -> None:
    (tmp_path / "tenantry.toml").write_text("port = 9000\n")
    (tmp_path / ".env").write_text("TENANTRY_METRICS_TOKEN=very-secret-token-of-metrics\n")
    environment = {"TENANTRY_SECRET_KEY": "another very secret key, long enough", "TENANTRY_LOG_LEVEL": "debug"}
    text = report(environment, tmp_path).json
    found = {setting["name"]: (setting["value"], setting["source"]) for setting in json.loads(text)}
    assert found["TENANTRY_PORT"] == ("9000", "tenantry.toml")
    assert found["TENANTRY_METRICS_TOKEN"] == ("(hidden)", ".env")
    assert found["TENANTRY_SECRET_KEY"] == ("(hidden)", "environment")
    assert found["TENANTRY_LOG_LEVEL"] == ("debug", "environment")
    assert found["TENANTRY_HOST"] == ("127.0.0.1", "default")
    assert "very-secret" not in text
    assert "very secret" not in text


async def token_of(app: TestApp, email: str, password: str) -> str:
    body = {"email": email, "password": password, "isPasswordEncrypted": False}
    data = (await app.call("POST", "/api/auth/login", json=body)).json()["data"]
    assert data["mustChangePassword"] is False
    token: str = data["token"]
    return token


async def test_the_demo_s_people_log_in_and_see_their_own_tenant(app: TestApp) -> None:
    said = await demo.fill_with(app.services, "http://127.0.0.1:8000")
    password = re.search(r"password (\S+) as", said)
    assert password, said
    totals = {}
    for email in ("nils.petersen@example.com", "elif.demir@example.com"):
        app.tokens[email] = await token_of(app, email, password[1])
        page = (await app.call("GET", "/api/products?include=category,photo", as_whom=email)).json()["data"]
        totals[email] = page["totalCount"]
        row = page["items"][0]
        assert row["category"]["name"]
        assert row["photo"]["type"] == "image/png"
        content = await app.call("GET", f"/api/products/{row['id']}/photo", as_whom=email)
        assert content.headers["etag"] == f'"{row["photo"]["sha256"]}"'
    assert set(totals.values()) == {60}
    app.tokens["reviewer"] = await token_of(app, "samir.haddad@example.com", password[1])
    seen = {
        whom: (await app.call("GET", "/api/reviews", as_whom=whom)).json()["data"]
        for whom in ("nils.petersen@example.com", "reviewer")
    }
    assert [page["totalCount"] for page in seen.values()] == [240, 12]
    assert {row["author"] for row in seen["reviewer"]["items"]} == {"Samir Haddad"}
    changed = await authors_of_changes(app, "nils.petersen@example.com")
    assert changed >= {"nils.petersen@example.com", "joana.reis@example.com"}
    body = {"email": "vera.lindqvist@example.com", "password": password[1], "isPasswordEncrypted": False}
    assert (await app.call("POST", "/api/auth/login", json=body)).json()["data"]["isGlobal"] is True
    with pytest.raises(CommandError, match="filled before"):
        await demo.fill_with(app.services, "http://127.0.0.1:8000")


async def authors_of_changes(app: TestApp, whom: str) -> set[str]:
    """E-mails of the users who wrote the most changed product, on different past days."""
    people = (await app.call("GET", "/api/users", as_whom=whom)).json()["items"]
    emails = {person["id"]: person["email"] for person in people}
    listed = (await app.call("GET", "/api/products?sort=version:desc&pageSize=1", as_whom=whom)).json()["data"]
    path = f"/api/products/{listed['items'][0]['id']}/history"
    entries = (await app.call("GET", path, as_whom=whom)).json()["data"]["items"]
    times = [entry["at"] for entry in entries]
    assert times == sorted(times, reverse=True)
    assert len({time[:10] for time in times}) == len(times) >= 4
    return {emails[entry["by"]] for entry in entries}


async def test_the_demo_of_a_project_without_the_catalogue_explains_the_missing_rows() -> None:
    opened = await open_test_app(entities=(), counts_limits=False)
    said = await demo.fill_with(opened.services, "http://127.0.0.1:8000")
    assert "Harbour Coffee (harbour-coffee): 4 people.\n" in said
    assert "TENANTRY_ENTITIES does not name (tenantry.catalogue)" in said
    assert "products" not in said


def test_commands_of_administration_work_on_servers(tenantry: Tenantry, migrated: dict[str, str]) -> None:
    made = tenantry("tenants", "create", "acme", "--json", **migrated)
    assert json.loads(made.stdout)[0]["identifier"] == "acme", made.stderr
    again = tenantry("tenants", "create", "acme", **migrated)
    assert again.returncode == 1
    assert "Traceback" not in again.stderr
