"""People who join by the address of their e-mail: a domain is proved in the settings, and a request is decided."""

import re
from typing import cast

import pytest
from playwright.async_api import ViewportSize, expect

from adapters.memory.database import MemoryDatabase
from adapters.memory.dns import MemoryDnsRecords
from domain.identity.users import email_key
from domain.scope import EveryTenant
from tests.console.administration.test_rules_of_a_tenant import make_tenant
from tests.console.conftest import NARROW, WIDE, Service, Visitor
from tests.console.looks.test_accessibility import overflow, violations
from tests.http.app import PASSWORD

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

DOMAIN, DOMAIN_OF_MANY = "club.example", "society.example"


async def make_proved(service: Service, email: str) -> None:
    """Somebody of the tenant ``other``, whose address was proved."""
    app = service.app
    key = email_key(email)
    assert key is not None
    await app.make_user("other", email, [])
    async with cast(MemoryDatabase, app.adapters.database).transaction(EveryTenant()) as tx:
        state = await tx.users.state_by_email(key)
        assert state is not None
        assert await tx.credentials.confirm_email(state.user.id, key, app.adapters.clock.now())


async def ask_to_join(service: Service, email: str) -> None:
    """Somebody of another tenant, whose address was proved, logs in."""
    app = service.app
    await make_proved(service, email)
    # read anew, wherever the tests before have left the clock
    app.services.sign_in.joining.known.read_at = None
    body = {"email": email, "password": PASSWORD, "isPasswordEncrypted": False}
    answer = await app.call("POST", "/api/auth/login", json=body)
    assert answer.status_code == 200, answer.text


@pytest.mark.promise("console, journeys: Domains are proved, and requests to join decided")
async def test_a_domain_is_proved_by_a_record(visitor: Visitor) -> None:
    page, service = visitor.page, visitor.service
    await make_tenant(visitor, "club", "chair")
    await visitor.enter("settings", "chair@club.example")
    panel = page.locator("section.panel", has=page.get_by_role("heading", name="Domains"))
    await panel.get_by_role("button", name="Add domain").click()
    dialog = page.get_by_role("dialog", name="Add domain")
    await dialog.get_by_label("Domain").fill("gmail.com")
    await dialog.get_by_role("button", name="Add domain").click()
    await expect(dialog.locator(".problem")).to_contain_text("is a public mail provider")
    await dialog.get_by_label("Domain").fill(DOMAIN)
    await dialog.get_by_label("Member", exact=True).check()
    assert await violations(visitor) == []
    await dialog.get_by_role("button", name="Add domain").click()
    row = panel.get_by_role("row", name=DOMAIN)
    await expect(row).to_contain_text("to be proved")
    await row.get_by_role("button", name="Look up the record").click()
    await visitor.said("has no TXT record")
    record = re.fullmatch(r"(\S+) TXT (\S+)", await row.locator("code").inner_text())
    assert record is not None
    cast(MemoryDnsRecords, service.app.adapters.dns).records[record[1]] = [record[2]]
    await row.get_by_role("button", name="Look up the record").click()
    await visitor.said("The domain is proved.")
    await expect(row.get_by_text("proved", exact=True)).to_be_visible()
    assert await violations(visitor) == []
    assert await overflow(visitor) <= 0


@pytest.mark.promise("console, journeys: Domains are proved, and requests to join decided")
async def test_join_requests_can_be_approved_or_declined(visitor: Visitor) -> None:
    page, service = visitor.page, visitor.service
    await make_tenant(visitor, "society", "chair")
    app = service.app
    await app.login("chair", "chair@society.example")
    body = {"domain": DOMAIN_OF_MANY, "mode": "request", "roles": ["Member"]}
    path = "/api/tenants/current/domains"
    record = (await app.call("POST", path, as_whom="chair", json=body)).json()["data"]["record"]
    cast(MemoryDnsRecords, app.adapters.dns).records[record["name"]] = [record["value"]]
    await app.call("POST", f"{path}/{DOMAIN_OF_MANY}/verify", as_whom="chair")
    for name in ("ada", "eve"):
        await ask_to_join(service, f"{name}@{DOMAIN_OF_MANY}")
    await visitor.enter("people?tab=joining", "chair@society.example")
    await page.get_by_role("row", name=f"ada@{DOMAIN_OF_MANY}").get_by_role("button", name="Let in").click()
    await visitor.said("They are a member now.")
    await page.get_by_role("row", name=f"eve@{DOMAIN_OF_MANY}").get_by_role("button", name="Decline").click()
    assert await violations(visitor) == []
    await page.get_by_role("dialog").get_by_role("button", name="Decline").click()
    await expect(page.get_by_role("heading", name="Nobody asks to join")).to_be_visible()
    await page.get_by_role("link", name="Members").last.click()
    await expect(page.get_by_role("row", name=f"ada@{DOMAIN_OF_MANY}")).to_contain_text("Member")
    assert await page.get_by_text(f"eve@{DOMAIN_OF_MANY}").count() == 0


@pytest.mark.parametrize("reads_roles", [True, False])
async def test_an_approval_does_not_grant_roles_beyond_those_of_the_approver(
    visitor: Visitor, reads_roles: bool
) -> None:
    page, service, app = visitor.page, visitor.service, visitor.service.app
    await service.renew_tokens()
    path, domain = "/api/tenants/current/domains", "academy.example"
    body = {"domain": domain, "mode": "request", "roles": ["Admin"]}
    record = (await app.call("POST", path, as_whom="acme", json=body)).json()["data"]["record"]
    cast(MemoryDnsRecords, app.adapters.dns).records[record["name"]] = [record["value"]]
    await app.call("POST", f"{path}/{domain}/verify", as_whom="acme")
    others = ["read:roles"] if reads_roles else []
    await app.make_role("acme", "Host", ["read:users", "create:invitations", *others])
    await app.make_user("acme", "host@acme.example", ["Host"])
    await ask_to_join(service, f"ada@{domain}")
    await visitor.enter("people?tab=joining", "host@acme.example")
    row = page.get_by_role("row", name=f"ada@{domain}")
    await expect(row).to_contain_text("Admin")
    if not reads_roles:
        await expect(row.get_by_role("button", name="Let in")).to_be_disabled()
        await expect(row).to_contain_text("The domain gives roles that you may not give.")
        assert await violations(visitor) == []
        return
    await row.get_by_role("button", name="Let in").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("The domain gives Admin, which you may not give.")
    await expect(dialog.get_by_label("Admin", exact=True)).to_be_disabled()
    await dialog.get_by_label("Host", exact=True).check()
    assert await violations(visitor) == []
    await dialog.get_by_role("button", name="Let in").click()
    await visitor.said("They are a member now.")
    await page.get_by_role("link", name="Members").last.click()
    await expect(page.get_by_role("row", name=f"ada@{domain}")).to_contain_text("Host")


@pytest.mark.promise("console, journeys: Domains are proved, and requests to join decided")
async def test_a_domain_is_changed_and_removed(visitor: Visitor) -> None:
    page = visitor.page
    await make_tenant(visitor, "guild", "warden")
    await visitor.enter("settings", "warden@guild.example")
    panel = page.locator("section.panel", has=page.get_by_role("heading", name="Domains"))
    await expect(panel).to_contain_text("No domains")
    await panel.get_by_role("button", name="Add domain").click()
    await page.get_by_role("dialog").get_by_label("Domain").fill("guild.example")
    await page.get_by_role("dialog").get_by_role("button", name="Add domain").click()
    row = panel.get_by_role("row", name="guild.example")
    await row.get_by_role("button", name="Edit").click()
    await page.get_by_role("dialog").get_by_label("At their next login people").select_option("join")
    await page.get_by_role("dialog").get_by_role("button", name="Save").click()
    await expect(row).to_contain_text("become members")
    await row.get_by_role("button", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(panel).to_contain_text("No domains")


@pytest.mark.promise("console, journeys: One's own invitations are shown, and asked for where the address is proved")
async def test_the_account_page_requests_invitations_only_for_a_proved_address(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    email, refused = "guest@other.example", list[str]()
    page.on("response", lambda answer: refused.append(answer.url) if answer.status >= 400 else None)
    await make_proved(visitor.service, email)
    invited = await app.call("POST", "/api/invitations", as_whom="acme", json={"email": email})
    assert invited.status_code == 201, invited.text
    await visitor.enter("account", "admin@other.example")
    await expect(page.get_by_text("this one")).to_be_visible()
    await page.wait_for_load_state("networkidle")
    assert [request.url for request in visitor.requests if "/api/auth/invitations" in request.url] == []
    await visitor.enter("account", email)
    await page.get_by_role("button", name="Accept").click()
    await visitor.said("You are a member of Acme now.")
    await expect(page.get_by_role("heading", name="Invitations to you")).to_have_count(0)
    assert refused == []


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
async def test_the_audit_trail_names_a_domain_of_any_length(visitor: Visitor, size: ViewportSize) -> None:
    page, app = visitor.page, visitor.service.app
    name = f"lodge{size['width']}"
    domain = ".".join([name, "a" * 63, "b" * 63, "c" * 63, "example"])
    await make_tenant(visitor, name, "chair")
    await app.login("chair", f"chair@{name}.example")
    body = {"domain": domain, "mode": "request", "roles": ["Member"]}
    added = await app.call("POST", "/api/tenants/current/domains", as_whom="chair", json=body)
    assert added.status_code == 201, added.text
    await page.set_viewport_size(size)
    await visitor.enter("", f"chair@{name}.example")
    shown = page.get_by_text(f"Domain added: {domain}")
    await expect(shown).to_be_visible()
    assert await overflow(visitor) <= 0
    box = await shown.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= size["width"], "the end of the name cannot be read"
    await visitor.go("audit")
    await page.get_by_role("gridcell").get_by_role("link", name=f"Domain added: {domain}").click()
    await expect(page.get_by_role("definition").get_by_text(f"domain.added:{domain}")).to_be_visible()
    assert await overflow(visitor) <= 0


async def test_a_wrong_address_among_several_is_reported_at_its_field(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("people?tab=invitations")
    await page.get_by_role("button", name="Invite", exact=True).first.click()
    dialog = page.get_by_role("dialog", name="Invite")
    field = dialog.get_by_label("E-mail addresses")
    await field.fill("right@acme.example\nnope")
    await dialog.get_by_role("button", name="Invite").click()
    await expect(field).to_have_attribute("aria-invalid", "true")
    await expect(field).to_have_accessible_description(re.compile("^nope: "))
    await expect(dialog.get_by_role("alert")).not_to_contain_text("items[")
    assert await violations(visitor) == []
