"""An invitation in a browser, for people whose password alone does not sign them in."""

from typing import cast

import pytest
from playwright.async_api import ViewportSize, expect

from adapters.memory.mail import MemoryMailer
from tests.builders import link_in
from tests.console.conftest import NARROW, WIDE, Visitor
from tests.console.looks.test_accessibility import overflow, violations
from tests.http.app import PASSWORD
from tests.signin.journeys import code, open_page, sign_in, someone, told
from tests.signin.test_login_page import add_app

pytestmark = [pytest.mark.timeout(120), pytest.mark.filterwarnings("ignore::ResourceWarning")]

CHOSEN = "a password of her own"


async def invitation(visitor: Visitor, email: str, tenant: str = "other") -> str:
    """The link in the mail."""
    app = visitor.service.app
    made = await app.call("POST", "/api/invitations", as_whom=tenant, json={"email": email})
    assert made.status_code == 201, made.text
    mailer = cast(MemoryMailer, app.adapters.mailer)
    mailer.sent.clear()
    while await app.services.relay.deliver():
        pass
    (mail,) = [mail for mail in mailer.sent if mail.to == email and "/account/invitation" in mail.text]
    return link_in(mail)


async def test_somebody_with_a_second_factor_joins(visitor: Visitor) -> None:
    page, email = visitor.page, await someone(visitor, "factored")
    secret, _ = await add_app(visitor, email)
    await page.goto(await invitation(visitor, email))
    await page.get_by_role("textbox", name="Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Log in and join").click()
    await page.wait_for_url("**/account/login?then=invitation")
    await sign_in(visitor, email)
    await page.get_by_label("Code of your authenticator app").fill(code(visitor, secret))
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/account/invitation")
    await expect(page.get_by_text("You are signed in with this address.")).to_be_visible()
    await page.get_by_role("button", name="Join", exact=True).click()
    await told(visitor, "You have joined")
    await expect(page.get_by_role("link", name="Sign in")).to_be_visible()


async def test_somebody_signs_in_another_way_and_another_account_joins_nothing(visitor: Visitor) -> None:
    page, email = visitor.page, await someone(visitor, "elsewhere")
    stranger = await someone(visitor, "stranger")
    await page.goto(await invitation(visitor, email))
    await page.get_by_role("button", name="Sign in another way").click()
    await page.wait_for_url("**/account/login?then=invitation")
    await sign_in(visitor, stranger)
    await page.wait_for_url("**/account/invitation")
    await expect(page.get_by_role("button", name="Join", exact=True)).to_be_hidden()
    await expect(page.get_by_role("button", name="Log in and join")).to_be_visible()
    await page.get_by_role("textbox", name="Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Log in and join").click()
    await told(visitor, "You have joined")


async def test_a_new_person_joins_a_tenant_that_requires_a_second_factor(visitor: Visitor) -> None:
    page, app, email = visitor.page, visitor.service.app, "newcomer@strict.example"
    made = await app.call("POST", "/api/tenants", as_whom="root", json={"name": "Strict", "identifier": "strict"})
    there = await app.call(
        "POST", "/api/auth/switch-tenant", as_whom="root", json={"tenantId": made.json()["data"]["id"]}
    )
    app.tokens["root in strict"] = there.json()["data"]["token"]
    link = await invitation(visitor, email, "root in strict")
    body = {"security": {"requireMfa": True}}
    changed = await app.call("PUT", "/api/tenants/current/settings", as_whom="root in strict", json=body)
    assert changed.status_code == 200, changed.text
    await page.goto(link)
    await page.get_by_label("Full name").fill("Ada Byron")
    for label in ("Password", "The same again"):
        await page.get_by_role("textbox", name=label, exact=True).fill(CHOSEN)
    await page.keyboard.press("Enter")
    await told(visitor, "you have joined")
    await open_page(visitor, query="")
    await sign_in(visitor, email, CHOSEN)
    await expect(page.get_by_role("heading", name="Set up a second factor")).to_be_visible()


@pytest.mark.promise(
    "tenants, acceptance: the page of the service joins by mouse and keyboard, and says what it is to those who listen"
)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
async def test_the_page_of_an_invitation_breaks_no_rule(visitor: Visitor, theme: str, size: ViewportSize) -> None:
    """For a new person, for somebody with an account, and for a link that is worth nothing."""
    page, known = visitor.page, await someone(visitor, f"known-{theme}-{size['width']}")
    await page.set_viewport_size(size)
    await page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    for email, shown in (
        (f"new-{theme}-{size['width']}@example.com", page.get_by_label("Full name")),
        (known, page.get_by_role("button", name="Log in and join")),
        (None, page.get_by_role("alert")),
    ):
        await page.goto("about:blank")
        await page.goto(await invitation(visitor, email) if email else f"{visitor.home}/account/invitation#token=none")
        await expect(shown).to_be_visible()
        assert await violations(visitor) == []
        assert await overflow(visitor) <= 0
