"""The matrix of roles: what the service would refuse the caller is disabled, with the reason.

Lists of roles to give: what the service would refuse the caller cannot be chosen, and the list says so.
"""

import re

import pytest
from playwright.async_api import expect

from tests.console.conftest import Visitor
from tests.console.looks.test_accessibility import violations

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

KEEPER = ["read:permissions", *(f"{action}:roles" for action in ("read", "create", "update", "delete"))]


async def test_only_permissions_held_by_the_caller_can_be_added_or_removed(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    await visitor.service.renew_tokens()
    await app.make_role("acme", "Keeper", KEEPER)
    await app.make_role("acme", "Mixed", ["read:roles", "read:products"])
    await app.make_user("acme", "keeper@acme.example", ["Keeper"])
    await visitor.enter("roles", "keeper@acme.example")
    await expect(page.get_by_text("Grey entries are locked")).to_be_visible()
    await expect(page.get_by_label("Mixed: Products")).to_have_value("read")
    await expect(page.get_by_label("Mixed: Products")).to_be_disabled()
    await page.get_by_label("Show each permission").check()
    for name, reason in (
        ("Mixed: read:products", "lack this permission"),
        ("Mixed: delete:users", "lack this permission"),
        ("Member: read:roles", "belongs to all tenants"),
        ("Admin: read:roles", "Included in Everything"),
    ):
        box = page.get_by_role("checkbox", name=name, exact=True)
        await expect(box).to_be_disabled()
        await expect(box).to_have_accessible_description(re.compile(re.escape(reason)))
    await page.get_by_role("checkbox", name="Mixed: read:roles", exact=True).uncheck()
    await page.get_by_role("checkbox", name="Mixed: delete:roles", exact=True).check()
    await page.get_by_role("button", name="Save 1 role").click()
    await visitor.said("Saved.")
    roles = (await app.call("GET", "/api/roles", as_whom="acme")).json()["items"]
    assert [role["permissions"] for role in roles if role["name"] == "Mixed"] == [["delete:roles", "read:products"]]
    assert await violations(visitor) == []


async def test_a_role_beyond_the_callers_permissions_cannot_be_renamed_or_deleted(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    await visitor.service.renew_tokens()
    await app.make_role("acme", "Keeper", KEEPER)
    await app.make_role("acme", "Strong", ["delete:products"])
    await app.make_role("acme", "Weak", ["read:roles"])
    await app.make_user("acme", "keeper@acme.example", ["Keeper"])
    await visitor.enter("roles", "keeper@acme.example")
    for role, reason in (("Strong", "permissions that you lack"), ("Keeper", "that somebody holds cannot be deleted")):
        await page.get_by_role("button", name=f"{role} ·").click()
        await expect(page.get_by_role("button", name="Delete")).to_be_disabled()
        await expect(page.get_by_text(reason)).to_be_visible()
        assert await violations(visitor) == []
        await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Strong ·").click()
    await page.get_by_role("button", name="Name and description").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_label("Name")).to_be_disabled()
    await dialog.get_by_label("Description").fill("deletes")
    await dialog.get_by_role("button", name="Save").click()
    await visitor.said("Saved.")
    await page.get_by_role("button", name="Weak ·").click()
    await page.get_by_role("button", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await visitor.said("The role is deleted.")
    # roles of the system have no menu for those who may not change them
    await expect(page.get_by_role("button", name="Member ·")).to_have_count(0)


async def test_a_super_admin_makes_a_role_for_all_tenants_in_the_tenant_system(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    await visitor.enter("roles", "admin@example.com")
    await page.get_by_role("button", name="Add role").click()
    await page.get_by_role("dialog").get_by_label("Name").fill("Auditor")
    await page.get_by_role("dialog").get_by_role("button", name="Save").click()
    await page.get_by_label("Show each permission").check()
    await page.get_by_role("checkbox", name="Auditor: read:audit-events", exact=True).check()
    await page.get_by_role("button", name="Save 1 role").click()
    await expect(page.get_by_role("button", name="Save 1 role")).to_have_count(0)
    roles = (await app.call("GET", "/api/roles", as_whom="root")).json()["items"]
    assert [role["permissions"] for role in roles if role["name"] == "Auditor"] == [["read:audit-events"]]
    await page.get_by_role("button", name="Member ·").click()
    await expect(page.get_by_text("belongs to the service")).to_be_visible()


@pytest.mark.promise("console, journeys: Hundreds of roles are searched in the matrix and in forms")
async def test_many_roles_are_searched(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    for number in range(40):
        await app.make_role("acme", f"Role {number:02}", ["read:products"])
    person = await app.make_user("acme", "many@acme.example", ["Role 39"])
    await visitor.enter("roles")
    await expect(page.get_by_text("24 of 44 shown")).to_be_visible()
    # the permissions, and 24 roles
    await expect(page.locator("thead th")).to_have_count(25)
    await page.get_by_label("Role", exact=True).fill("role 3")
    await expect(page.get_by_text("10 of 10 shown")).to_be_visible()
    await page.get_by_label("Role 37: Categories").select_option(label="Read")
    # what is changed is saved, whatever is looked for meanwhile
    await page.get_by_label("Role", exact=True).fill("role 01")
    await page.get_by_role("button", name="Save 1 role").click()
    await visitor.said("Saved.")
    await visitor.go(f"people/{person}")
    roles = page.get_by_role("group", name="Roles in this tenant")
    await expect(roles.get_by_role("checkbox")).to_have_count(24)
    await expect(roles.get_by_role("checkbox").first).to_have_accessible_name("Role 39")
    await roles.get_by_role("searchbox").fill("role 37")
    await roles.get_by_label("Role 37").check()
    await expect(roles.get_by_role("status")).to_have_text("1 of 1 shown · 2 chosen")
    assert await violations(visitor) == []
    async with page.expect_response(f"**/api/users/{person}"):
        await page.get_by_role("button", name="Save", exact=True).click()
    listed = (await app.call("GET", f"/api/users/{person}", as_whom="acme")).json()
    assert sorted(listed.get("data", listed)["roles"]) == ["Role 37", "Role 39"]


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
async def test_no_dialog_offers_a_role_that_the_caller_may_not_grant(visitor: Visitor) -> None:
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
    await expect(page.get_by_role("cell", name="admin@example.com", exact=True)).to_be_visible()
    await expect(page.get_by_role("cell", name="admin@acme.example", exact=True)).to_have_count(0)
    await page.get_by_role("button", name="Add member").click()
    await expect(page.get_by_role("dialog").get_by_label("SuperAdmin")).to_be_enabled()


@pytest.mark.promise("console, journeys: roles that the caller may not give are not offered")
async def test_a_role_of_a_domain_that_the_caller_may_not_grant_can_be_omitted(visitor: Visitor) -> None:
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
        for button in ("Disable", "Delete", "New key", "Rotate", "Revoke"):
            await expect(page.get_by_role("button", name=button, exact=True)).to_have_count(count)
        await expect(page.get_by_text("has permissions that you lack")).to_have_count(1 - count)
        await page.get_by_role("link", name="Service accounts").last.click()
