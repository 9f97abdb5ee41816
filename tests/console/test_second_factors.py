"""An authenticator app is set up in the console, and asked for at the next sign-in."""

import pyotp
import pytest
from playwright.async_api import expect

from tests.console.conftest import Visitor
from tests.console.test_accessibility import violations

EMAIL = "careful@acme.example"

pytestmark = [pytest.mark.timeout(60), pytest.mark.filterwarnings("ignore::ResourceWarning")]


def code(visitor: Visitor, secret: str) -> str:
    return pyotp.TOTP(secret).at(int(visitor.service.app.adapters.clock.now().timestamp()))


async def test_an_app_is_set_up_and_asked_for(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.service.app.make_user("acme", EMAIL, ["Reader"])
    await visitor.enter("account", EMAIL)
    await page.get_by_role("button", name="Add an app").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("img", name="Code to scan with the app")).to_be_visible()
    assert await violations(visitor) == []
    secret = await dialog.locator("pre").inner_text()
    await dialog.get_by_label("Code").fill("000000")
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog.get_by_role("alert")).to_be_visible()
    await dialog.get_by_label("Code").fill(code(visitor, secret))
    await dialog.get_by_role("button", name="Save").click()
    recovery = (await page.get_by_role("dialog", name="Recovery codes").locator("pre").inner_text()).split()
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Sign out", exact=True).click()
    await visitor.sign_in(EMAIL)
    await expect(page.get_by_role("heading", name="Second factor")).to_be_visible()
    assert await violations(visitor) == []
    await page.get_by_label("Code").fill(code(visitor, secret))
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="My account")).to_be_visible()
    await page.get_by_role("button", name="Sign out", exact=True).click()
    await visitor.sign_in(EMAIL)
    await page.get_by_label("Code").fill(recovery[0])
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="My account")).to_be_visible()
