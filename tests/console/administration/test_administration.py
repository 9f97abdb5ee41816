"""Members, roles, tenants and the account: what administrators do in the console."""

import re
from datetime import timedelta
from uuid import UUID

import pytest
from playwright.async_api import expect

from adapters.memory.clock import MovableClock
from application.ports.database import Mail
from domain.scope import EveryTenant
from tests.console.conftest import Visitor
from tests.console.looks.test_accessibility import violations
from tests.http.app import PASSWORD

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.mark.promise('console, journeys: Members, roles, invitations, "why may they?"')
async def test_a_member_is_added_and_one_sees_why_they_may(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("people")
    await page.get_by_role("button", name="Add member").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Add member").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("fields need attention")
    await dialog.get_by_label("Name").fill("Grace Hopper")
    await dialog.get_by_label("E-mail").fill("grace@acme.example")
    await dialog.get_by_label("First password").fill("a long enough secret")
    await dialog.get_by_label("Reader").check()
    await dialog.get_by_role("button", name="Add member").click()
    await expect(page.get_by_role("heading", name="Grace Hopper")).to_be_visible()
    await page.get_by_role("textbox", name="Permission").fill("read:products")
    await expect(page.get_by_role("row", name="read:products Reader")).to_be_visible()
    await page.get_by_role("textbox", name="Permission").fill("update:products")
    await expect(page.get_by_role("row", name="update:products")).to_contain_text("no role")
    await page.get_by_role("button", name="Disable").click()
    await expect(page.get_by_text("disabled", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Remove").click()
    await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(page.get_by_role("heading", name="Members")).to_be_visible()


@pytest.mark.promise('console, journeys: Members, roles, invitations, "why may they?"')
async def test_a_role_gets_a_permission_in_the_matrix(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    await visitor.enter("roles")
    await page.get_by_role("button", name="Add role").click()
    await page.get_by_role("dialog").get_by_label("Name").fill("Packer")
    await page.get_by_role("dialog").get_by_role("button", name="Save").click()
    await page.get_by_label("Packer: Products").select_option(label="Write")
    await page.get_by_role("button", name="Products").click()
    await page.get_by_label("Packer: delete:products").uncheck()
    await expect(page.get_by_label("Packer: Products")).to_have_value("custom")
    assert await violations(visitor) == []
    # the role that was added was told of in the same words
    async with page.expect_response(lambda answer: answer.request.method == "PUT" and "/api/roles/" in answer.url):
        await page.get_by_role("button", name="Save 1 role").click()
    await visitor.said("Saved.")
    roles = (await app.call("GET", "/api/roles", as_whom="acme")).json()["items"]
    (packer,) = [role["permissions"] for role in roles if role["name"] == "Packer"]
    assert sorted(packer) == ["create:products", "read:products", "update:products"]


@pytest.mark.promise('console, journeys: Members, roles, invitations, "why may they?"')
async def test_people_are_invited_and_an_invitation_is_revoked(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("people?tab=invitations")
    await page.get_by_role("button", name="Invite").click()
    await page.get_by_label("E-mail addresses").fill("one@example.org\ntwo@example.org")
    await page.get_by_role("dialog").get_by_role("button", name="Invite").click()
    await expect(page.get_by_role("row", name="two@example.org")).to_contain_text("waiting")
    await page.get_by_role("row", name="two@example.org").get_by_role("button", name="Revoke").click()
    await page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    await expect(page.get_by_role("row", name="two@example.org")).to_have_count(0)
    await expect(page.get_by_role("row", name="one@example.org")).to_be_visible()


@pytest.mark.promise("console, journeys: Super-admins: tenants, the data of another one under a red bar, of all")
async def test_a_super_admin_works_in_another_tenant_under_a_red_bar(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("tenants", "admin@example.com")
    await page.get_by_role("row", name="Acme").get_by_role("button", name="Work in its data").click()
    bar = page.locator(".bar.bad")
    await expect(bar).to_contain_text("Acme")
    await page.get_by_role("navigation").get_by_role("link", name="Products").click()
    await expect(page.locator("tbody a").first).to_be_visible()
    await bar.get_by_role("button", name="Leave").click()
    await expect(page.get_by_role("heading", name="No rows yet")).to_be_visible()
    scoped = [await request.all_headers() for request in visitor.requests if "/api/products?" in request.url]
    assert ["x-tenant-scope" in headers for headers in scoped][-2:] == [True, False]


@pytest.mark.promise("console, journeys: Super-admins: tenants, the data of another one under a red bar, of all")
async def test_a_super_admin_sees_the_rows_of_all_tenants_and_writes_none(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    body = {"name": "Elsewhere", "sku": "ELSE-1", "price": "1.00"}
    await app.call("POST", "/api/products", as_whom="other", json=body)
    await visitor.enter("tenants", "admin@example.com")
    await page.get_by_role("button", name="See the data of all").click()
    await expect(page.locator(".bar.bad")).to_contain_text("can change nothing")
    await page.get_by_role("navigation").get_by_role("link", name="Products").click()
    row = page.get_by_role("row", name="Elsewhere")
    await expect(row.get_by_role("gridcell", name="Other", exact=True)).to_be_visible()
    await expect(
        page.get_by_role("row", name="Lamp").get_by_role("gridcell", name="Acme", exact=True).first
    ).to_be_visible()
    await expect(page.get_by_role("link", name="New")).to_have_count(0)
    assert await violations(visitor) == []
    await row.get_by_role("link", name="Elsewhere").click()
    await expect(page.get_by_label("Price")).to_be_disabled()
    await expect(page.get_by_role("button", name="Delete")).to_have_count(0)
    await page.locator(".bar.bad").get_by_role("button", name="Leave").click()
    await expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    asked = [request for request in visitor.requests if (await request.all_headers()).get("x-tenant-scope") == "all"]
    assert {request.method for request in asked} == {"GET"}


@pytest.mark.promise("console, journeys: Super-admins: tenants, the data of another one under a red bar, of all")
async def test_a_tenant_is_made_and_closed(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("tenants", "admin@example.com")
    await page.get_by_role("button", name="Add tenant").click()
    await page.get_by_role("dialog").get_by_label("Name").fill("Blue Note")
    await expect(page.get_by_role("dialog").get_by_label("Identifier")).to_have_value("blue-note")
    await page.get_by_role("dialog").get_by_role("button", name="Add tenant").click()
    await expect(page.get_by_role("heading", name="Blue Note")).to_be_visible()
    await page.get_by_role("button", name="Close tenant").click()
    await page.get_by_role("dialog").get_by_role("button", name="Close tenant").click()
    await expect(page.get_by_text("closed", exact=True)).to_be_visible()


@pytest.mark.promise("console, journeys: One's own account: sessions, password, a proof that is asked for")
async def test_another_session_is_ended_and_the_password_changed(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    email = "sessions@acme.example"
    await app.make_user("acme", email, ["Reader"])
    visitor.service.let_time_pass()
    await app.login("elsewhere", email)
    await visitor.enter("account", email)
    await page.get_by_role("button", name="Revoke", exact=True).click()
    await visitor.said("The session is revoked.")
    assert (await app.call("GET", "/api/auth/me", as_whom="elsewhere")).status_code == 401
    await page.get_by_label("Current password").fill(PASSWORD)
    await page.get_by_label("New password").fill("a quite different secret")
    await page.get_by_label("The same again").fill("a quite different secret")
    await page.get_by_role("button", name="Change password").click()
    await visitor.said("Your password is changed.")


@pytest.mark.promise("console, journeys: One's own account: sessions, password, a proof that is asked for")
async def test_a_request_that_needs_a_recent_proof_is_sent_again_after_it(visitor: Visitor) -> None:
    page, clock = visitor.page, visitor.service.app.adapters.clock
    assert isinstance(clock, MovableClock)
    await visitor.enter("account")
    # beyond the age of a recent proof, and of the access token as well
    clock.move(timedelta(minutes=30))
    await page.get_by_role("button", name="Add an app").click()
    dialog = page.get_by_role("dialog", name="Confirm your identity")
    await dialog.get_by_label("Password").fill("not the password")
    await dialog.get_by_role("button", name="Confirm").click()
    await expect(dialog.get_by_role("alert")).to_be_visible()
    assert await violations(visitor) == []
    await dialog.get_by_label("Password").fill(PASSWORD)
    await dialog.get_by_role("button", name="Confirm").click()
    await expect(page.get_by_role("dialog", name="Add an app")).to_be_visible()
    await page.reload()
    await expect(page.get_by_role("heading", name="My account")).to_be_visible()


@pytest.mark.promise("console, journeys: Service accounts and keys")
async def test_a_program_gets_a_key_that_is_shown_once(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    await visitor.enter("keys")
    await page.get_by_role("button", name="Add service account").click()
    await page.get_by_role("dialog").get_by_label("Name").fill("Till")
    await page.get_by_role("dialog").get_by_label("Reader").check()
    await page.get_by_role("dialog").get_by_role("button", name="Add service account").click()
    await expect(page.get_by_role("heading", name="Till")).to_be_visible()
    await page.get_by_role("button", name="New key").click()
    await page.get_by_role("dialog").get_by_label("Name").fill("Front door")
    await page.get_by_role("dialog").get_by_role("button", name="New key").click()
    key = await page.get_by_role("dialog").locator("pre").inner_text()
    listed = await app.call("GET", "/api/products", headers={"Authorization": f"Bearer {key}"})
    assert listed.status_code == 200
    # after some of them without a click between, browsers ask no page whether a dialog may close
    for _ in range(4):
        await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog").locator("pre")).to_have_text(key)
    await page.get_by_role("dialog").get_by_role("button", name="Close").click()
    row = page.get_by_role("row", name="Front door")
    await expect(row).to_be_visible()
    assert key not in await page.locator("main").inner_text()
    await row.get_by_role("button", name="Revoke").click()
    await page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    await expect(row).to_have_count(0)


@pytest.mark.promise("console, journeys: Settings, security and owners of a tenant")
async def test_an_administrator_brands_the_tenant(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    await visitor.enter("settings", email="admin@other.example")
    await page.get_by_label("Accent colour", exact=True).fill("#ffee00")
    await page.get_by_label("Currency").fill("EUR")
    await page.get_by_role("button", name="Save", exact=True).click()
    await visitor.said("Saved.")
    stored = (await app.call("GET", "/api/tenants/current", as_whom="other")).json()["data"]["settings"]
    assert (stored["branding"]["primaryColor"], stored["currency"]) == ("#ffee00", "EUR")
    await page.reload()
    await expect(page.get_by_label("Accent colour", exact=True)).to_have_value("#ffee00")
    assert await violations(visitor) == []
    await page.emulate_media(color_scheme="dark")
    assert await violations(visitor) == []


async def test_sessions_of_a_member_are_seen_and_ended(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    email = "watched@acme.example"
    user_id = await app.make_user("acme", email, ["Reader"])
    visitor.service.let_time_pass()
    await app.login("watched", email)
    await visitor.enter(f"people/{user_id}")
    await page.get_by_role("button", name="Revoke", exact=True).click()
    await visitor.said("The session is revoked.")
    assert (await app.call("GET", "/api/auth/me", as_whom="watched")).status_code == 401


async def test_super_admins_see_jobs_backups_waiting_mails_and_the_source_of_settings(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    await app.services.job_results.record("backup", 4_200_000)
    await app.services.job_results.record("cleaning", 12)
    await app.services.job_results.record("tables", 0, has_failed=True)
    mail = Mail(id=UUID(int=9), kind="welcome", recipient="ada@acme.example", at=app.clock.now())
    async with app.adapters.database.transaction(EveryTenant()) as tx:
        await tx.outbox.add(mail)
    await visitor.enter("system", "admin@example.com")
    await expect(page.locator(".tile", has_text="Mail")).to_contain_text(re.compile(r"\d+ waiting"))
    await expect(page.locator(".tile", has_text="Last backup")).to_contain_text("4.2 MB")
    cleaning = page.get_by_role("row", name="Delete expired data")
    await expect(cleaning).to_contain_text(re.compile("succeeded.*12 · "))
    await expect(page.get_by_role("row", name="Maintain tables")).to_contain_text("failed, see the log")
    await expect(page.get_by_role("row", name="Look up domains")).to_contain_text("never", ignore_case=True)
    await expect(page.get_by_role("row", name="TENANTRY_SECRET_KEY")).to_contain_text("secret")
    assert await violations(visitor) == []


async def test_two_forms_of_a_tenants_settings_undo_nothing_of_each_other(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    visitor.service.let_time_pass()
    await app.login("root", "admin@example.com")
    tenant_id = await app.make_tenant("twice")
    await app.call("POST", "/api/auth/switch-tenant", as_whom="root", json={"tenantId": tenant_id})
    await visitor.enter("tenants", "admin@example.com")
    body = {"tenantId": tenant_id}
    headers = {"X-Console": "1", "Origin": visitor.home}
    switched = await visitor.context.request.post(f"{visitor.home}/console/session/refresh", data=body, headers=headers)
    assert switched.ok, await switched.text()
    await visitor.open("settings")
    await page.get_by_label("Currency").fill("CHF")
    own = page.locator("form", has=page.get_by_role("heading", name="Branding"))
    await own.get_by_role("button", name="Save", exact=True).click()
    await visitor.said("Saved.")
    whole = page.locator("form", has=page.get_by_label("Identifier"))
    await whole.get_by_label("Features").fill("wishes")
    await whole.get_by_role("button", name="Save", exact=True).click()
    await expect(page.locator(".toasts")).to_contain_text(re.compile("Saved.*Saved"))
    await page.reload()
    await expect(page.get_by_label("Currency")).to_have_value("CHF")
    await expect(page.get_by_label("Features")).to_have_value("wishes")
