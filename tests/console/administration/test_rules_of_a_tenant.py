"""What a tenant's administrators decide in the console: security, owners, factors of others, keys that end."""

import re

import pytest
from playwright.async_api import expect

from tests.console.conftest import Visitor
from tests.console.looks.test_accessibility import violations
from tests.console.session.test_second_factors import code
from tests.http.identity.factors.factors import Person

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


async def make_tenant(visitor: Visitor, name: str, *people: str) -> tuple[str, dict[str, str]]:
    """A tenant of its own, and its members by the part of their address before the @; each is an Admin."""
    app = visitor.service.app
    visitor.service.let_time_pass()
    await app.login("root", "admin@example.com")
    tenant_id = await app.make_tenant(name)
    return tenant_id, {who: await app.make_user(name, f"{who}@{name}.example", ["Admin"]) for who in people}


@pytest.mark.promise("console, journeys: Settings, security and owners of a tenant")
async def test_an_administrator_asks_for_second_factors_and_is_asked_first(visitor: Visitor) -> None:
    page = visitor.page
    await make_tenant(visitor, "careful", "ada")
    await visitor.enter("settings", "ada@careful.example")
    security = page.locator("form", has=page.get_by_role("heading", name="Security"))
    await security.get_by_label("Session lifetime (days)").fill("0")
    await security.get_by_role("button", name="Save security").click()
    await expect(security.get_by_label("Session lifetime (days)")).to_have_attribute("aria-invalid", "true")
    await security.get_by_label("Session lifetime (days)").fill("3")
    await security.get_by_label("Ask every member for a second factor").check()
    await security.get_by_label("Passkey").uncheck()
    assert await violations(visitor) == []
    await security.get_by_role("button", name="Save security").click()
    await visitor.said("Saved.")
    await page.get_by_role("link", name="Members").click()
    await expect(page.get_by_role("heading", name="Set up a second factor")).to_be_visible()
    await page.get_by_role("button", name="Authenticator app").click()
    secret = await page.locator("pre").inner_text()
    await page.get_by_label("Code that the app shows").fill(code(visitor, secret))
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    await page.get_by_role("button", name="I have stored them").click()
    await visitor.open("settings")
    await expect(security.get_by_label("Session lifetime (days)")).to_have_value("3")
    await expect(security.get_by_label("Passkey")).not_to_be_checked()
    await expect(security.get_by_label("App")).to_be_checked()


@pytest.mark.promise("console, journeys: Settings, security and owners of a tenant")
async def test_an_owner_passes_the_tenant_on_and_leaves_it(visitor: Visitor) -> None:
    page = visitor.page
    tenant_id, _ = await make_tenant(visitor, "family", "mother", "daughter")
    await visitor.enter(f"tenants/{tenant_id}", "admin@example.com")
    await page.get_by_role("row", name="mother@family.example").get_by_role("button", name="Make owner").click()
    await expect(page.get_by_role("row", name="mother@family.example")).to_contain_text("No longer owner")
    await page.get_by_role("button", name="Sign out", exact=True).click()
    await visitor.sign_in("mother@family.example")
    await expect(page.locator("nav.side")).to_be_attached()
    await visitor.open("settings")
    await page.get_by_role("button", name="Pass ownership on").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("button", name="Pass ownership on")).to_be_disabled()
    await dialog.get_by_label("Search").fill("daughter")
    await dialog.get_by_label("New owner").select_option(label="Somebody Else (daughter@family.example)")
    assert await violations(visitor) == []
    await dialog.get_by_role("button", name="Pass ownership on").click()
    await visitor.said("The tenant has a new owner.")
    await page.get_by_role("button", name="Leave this tenant").click()
    await page.get_by_role("dialog").get_by_role("button", name="Leave this tenant").click()
    await expect(page.get_by_label("Password")).to_be_visible()


@pytest.mark.promise("console, journeys: a person's page offers what the service does for this caller alone")
async def test_the_page_of_a_person_offers_only_the_actions_allowed_to_the_caller(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    tenant_id, people = await make_tenant(visitor, "guild", "owner", "chief")
    body = {"name": "Clerk", "permissions": ["read:users", "read:roles"]}
    assert (await app.call("POST", "/api/roles", as_whom="root in guild", json=body)).status_code == 201
    body = {"name": "Staff", "permissions": ["read:users", "update:users", "delete:users", "read:roles"]}
    assert (await app.call("POST", "/api/roles", as_whom="root in guild", json=body)).status_code == 201
    clerk = await app.make_user("guild", "clerk@guild.example", ["Clerk"])
    await app.make_user("guild", "staff@guild.example", ["Staff"])
    path = f"/api/tenants/{tenant_id}/users/{people['owner']}"
    assert (await app.call("PUT", path, as_whom="root", json={"isOwner": True})).status_code == 200
    await visitor.enter(f"people/{people['owner']}", "chief@guild.example")
    await expect(page.get_by_label("Phone")).to_be_enabled()
    await expect(page.get_by_label("E-mail")).to_be_disabled()
    await expect(page.get_by_label("E-mail")).to_have_accessible_description(re.compile("Only owners and super-admins"))
    assert await violations(visitor) == []
    for name in ("Disable", "Reset second factors", "Remove"):
        await expect(page.get_by_role("button", name=name)).to_have_count(0)
    await visitor.enter(f"people/{people['chief']}", "staff@guild.example")
    await expect(page.get_by_label("E-mail")).to_be_disabled()
    await expect(page.get_by_text("You may not change this account")).to_be_visible()
    await visitor.enter(f"people/{clerk}", "staff@guild.example")
    for name in ("Disable", "Reset second factors", "Remove"):
        await expect(page.get_by_role("button", name=name)).to_be_visible()
    await expect(page.get_by_label("E-mail")).to_be_enabled()
    await expect(page.get_by_label("E-mail")).to_have_accessible_description("")
    await expect(page.get_by_label("Clerk")).to_be_enabled()
    # nobody gives a role that holds more than they do
    await expect(page.get_by_label("Admin", exact=True)).to_be_disabled()


async def test_an_administrator_resets_the_factors_of_a_member(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    _, people = await make_tenant(visitor, "forgetful", "chief", "member")
    visitor.service.let_time_pass()
    person = Person(app, email="member@forgetful.example", name="forgetful-member")
    await person.login()
    await person.add_app()
    await visitor.enter(f"people/{people['member']}", "chief@forgetful.example")
    await page.get_by_role("button", name="Reset second factors").click()
    await page.get_by_role("dialog").get_by_role("button", name="Reset second factors").click()
    await visitor.said("The second factors are removed.")
    visitor.service.let_time_pass()
    assert (await person.login()).status_code == 200


@pytest.mark.promise("console, journeys: Service accounts and keys")
async def test_keys_that_expire_soon_are_listed_on_the_home_page(visitor: Visitor) -> None:
    page = visitor.page
    await make_tenant(visitor, "keyring", "smith")
    await visitor.enter("keys", "smith@keyring.example")
    await page.get_by_role("button", name="Add service account").click()
    await page.get_by_role("dialog").get_by_label("Name").fill("Nightly")
    await page.get_by_role("dialog").get_by_role("button", name="Add service account").click()
    for name, days in (("Lasting", "365"), ("Short", "7")):
        await page.get_by_role("button", name="New key").click()
        await page.get_by_role("dialog").get_by_label("Name").fill(name)
        await page.get_by_role("dialog").get_by_label("Expires after").select_option(days)
        await page.get_by_role("dialog").get_by_role("button", name="New key").click()
        await expect(page.get_by_role("dialog", name="The key")).to_be_visible()
        await page.get_by_role("dialog").get_by_role("button", name="Close").click()
        ends_soon = page.get_by_role("row", name=name).get_by_text("expires in")
        await expect(ends_soon).to_have_count(1 if days == "7" else 0)
        await visitor.open()
        told = page.get_by_role("link", name="A key of Nightly expires in")
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await expect(page.locator(".feed li").first).to_be_visible()
        await expect(told).to_have_count(1 if days == "7" else 0)
        assert await violations(visitor) == []
        await page.get_by_role("link", name="Service accounts").click()
        await page.get_by_role("link", name="Nightly", exact=True).click()
        await expect(page.get_by_role("heading", name="Nightly")).to_be_visible()
