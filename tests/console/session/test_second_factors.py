"""An authenticator app is set up in the console, and asked for at the next sign-in."""

import pyotp
import pytest
from playwright.async_api import Page, expect

from tests.console.conftest import Visitor
from tests.console.looks.test_accessibility import violations
from tests.http.identity.factors.factors import ask_for_factors

EMAIL = "careful@acme.example"

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


async def expect_scannable(page: Page) -> None:
    """The image is one: a browser shows one that it cannot read as well, broken."""
    image = page.get_by_role("img", name="Code to scan with the app")
    await expect(image).to_be_visible()
    await expect(image).not_to_have_js_property("naturalWidth", 0)


def code(visitor: Visitor, secret: str) -> str:
    return pyotp.TOTP(secret).at(int(visitor.service.app.adapters.clock.now().timestamp()))


@pytest.mark.promise("console, journeys: Passkeys and second factors")
async def test_an_app_is_set_up_and_asked_for(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.service.app.make_user("acme", EMAIL, ["Reader"])
    await visitor.enter("account", EMAIL)
    await page.get_by_role("button", name="Add an app").click()
    dialog = page.get_by_role("dialog")
    await expect_scannable(page)
    assert await violations(visitor) == []
    secret = await dialog.locator("pre").inner_text()
    await dialog.get_by_label("Code").fill("000000")
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog.get_by_role("alert")).to_be_visible()
    await dialog.get_by_label("Code").fill(code(visitor, secret))
    await dialog.get_by_role("button", name="Save").click()
    recovery = (await page.get_by_role("dialog", name="Recovery codes").locator("pre").inner_text()).split()
    await page.get_by_role("dialog").get_by_role("button", name="Close").click()
    await page.get_by_role("button", name="Sign out", exact=True).click()
    await visitor.sign_in(EMAIL)
    await expect(page.get_by_role("heading", name="Second factor")).to_be_visible()
    await expect(page.get_by_label("Code of your authenticator app")).to_be_focused()
    assert await violations(visitor) == []
    await page.get_by_label("Code of your authenticator app").fill(code(visitor, secret))
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="My account")).to_be_visible()
    await page.get_by_role("button", name="Sign out", exact=True).click()
    await visitor.sign_in(EMAIL)
    await page.get_by_label("Recovery code").fill(recovery[0])
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="My account")).to_be_visible()


@pytest.mark.promise("console, journeys: Passkeys and second factors")
async def test_where_a_tenant_demands_a_factor_it_is_set_up_while_signing_in(visitor: Visitor) -> None:
    page, app, email = visitor.page, visitor.service.app, "strict@strict.example"
    visitor.service.let_time_pass()
    await app.login("root", "admin@example.com")
    tenant_id = await app.make_tenant("strict")
    await app.make_user("strict", email, ["Admin"])
    await ask_for_factors(app, tenant_id)
    await visitor.open()
    await visitor.sign_in(email)
    await page.get_by_role("button", name="Authenticator app").click()
    await expect_scannable(page)
    assert await violations(visitor) == []
    secret = await page.locator("pre").inner_text()
    await page.get_by_label("Code that the app shows").fill(code(visitor, secret))
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    assert await violations(visitor) == []
    await page.get_by_role("button", name="I have stored them").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Hello")
