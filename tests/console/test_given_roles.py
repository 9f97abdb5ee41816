"""Lists of roles to give: what the service would refuse the caller cannot be chosen, and the list says so."""

import re

import pytest
from playwright.async_api import expect

from tests.console.conftest import Visitor
from tests.console.test_accessibility import violations

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

DIALOGS = {
    "people": "Add member",
    "people?tab=invitations": "Invite",
    "keys": "Add service account",
    "settings": "Add domain",
}
PERMISSIONS = [
    *("read:users", "create:users", "read:roles", "read:invitations", "create:invitations"),
    *("read:service-accounts", "create:service-accounts", "read:tenant-settings", "update:tenant-settings"),
]


@pytest.mark.promise("console, journeys: roles that the caller may not give are not offered")
async def test_no_dialog_offers_a_role_that_the_caller_may_not_give(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    await visitor.service.renew_tokens()
    await app.make_role("acme", "Clerk", PERMISSIONS)
    await app.make_user("acme", "clerk@acme.example", ["Clerk"])
    for email, given, beyond in (
        ("clerk@acme.example", ["Clerk", "Member"], ["Admin", "Reader"]),
        ("admin@acme.example", ["Clerk", "Member", "Admin", "Reader"], []),
    ):
        await visitor.enter(email=email)
        for path, name in DIALOGS.items():
            await visitor.open(path)
            await page.get_by_role("button", name=name, exact=True).click()
            roles = page.get_by_role("dialog").get_by_role("group", name="Roles")
            for role in given:
                await expect(roles.get_by_label(role, exact=True)).to_be_enabled()
            # super-admins alone give the role SuperAdmin, and no invitation or domain does
            is_listed = path in ("people", "keys")
            await expect(roles.get_by_label("SuperAdmin", exact=True)).to_have_count(int(is_listed))
            refused = [*beyond, "SuperAdmin"] if is_listed else beyond
            for role in refused:
                await expect(roles.get_by_label(role, exact=True)).to_be_disabled()
            if refused:
                await expect(roles).to_have_accessible_description(re.compile("may not give"))
            assert await violations(visitor) == []


@pytest.mark.promise("console, journeys: roles that the caller may not give are not offered")
async def test_a_super_admin_gives_the_role_of_super_admins_in_the_tenant_system(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("people", "admin@example.com")
    await page.get_by_role("button", name="Add member").click()
    await expect(page.get_by_role("dialog").get_by_label("SuperAdmin")).to_be_enabled()


@pytest.mark.promise("console, journeys: roles that the caller may not give are not offered")
async def test_a_role_of_a_domain_that_the_caller_may_not_give_can_be_left_out(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    await visitor.service.renew_tokens()
    await app.make_role("acme", "Clerk", PERMISSIONS)
    await app.make_user("acme", "clerk@acme.example", ["Clerk"])
    body = {"domain": "guests.example", "mode": "request", "roles": ["Reader"]}
    added = await app.call("POST", "/api/tenants/current/domains", as_whom="acme", json=body)
    assert added.status_code == 201, added.text
    await visitor.enter("settings", "clerk@acme.example")
    await page.get_by_role("row", name="guests.example").get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Reader").uncheck()
    await dialog.get_by_role("button", name="Save").click()
    await visitor.said("Saved.")


@pytest.mark.promise("console, journeys: roles that the caller may not give are not offered")
@pytest.mark.parametrize("others", [["read:roles"], []], ids=["roles are read", "roles are not read"])
async def test_a_program_beyond_its_reader_is_shown_and_not_changed(visitor: Visitor, others: list[str]) -> None:
    page, app = visitor.page, visitor.service.app
    await visitor.service.renew_tokens()
    names = [*others, *(f"{action}:service-accounts" for action in ("read", "create", "update", "delete"))]
    await app.make_role("acme", "Keeper", names)
    await app.make_user("acme", "keeper@acme.example", ["Keeper"])
    for name, roles in (("Strong", ["Admin"]), ("Weak", ["Keeper"])):
        body = {"name": name, "roles": roles}
        made = await app.call("POST", "/api/service-accounts", as_whom="acme", json=body)
        assert made.status_code == 201, made.text
        path = f"/api/service-accounts/{made.json()['data']['id']}/keys"
        assert (await app.call("POST", path, as_whom="acme", json={"name": "Key"})).status_code == 201
    await visitor.enter("keys", "keeper@acme.example")
    for name, count in (("Weak", 1), ("Strong", 0)):
        await page.get_by_role("link", name=name).click()
        await expect(page.get_by_role("row", name="Key")).to_be_visible()
        for button in ("Disable", "Delete", "New key", "Rotate", "End"):
            await expect(page.get_by_role("button", name=button, exact=True)).to_have_count(count)
        await expect(page.get_by_text("has permissions that you lack")).to_have_count(1 - count)
        await page.get_by_role("link", name="Service accounts").last.click()
