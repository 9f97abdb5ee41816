"""/account/security in a browser: factors, sessions, identities, password, each after a recent proof."""

from datetime import timedelta

import pytest
from playwright.async_api import ViewportSize, expect

from tests.console.conftest import NARROW, WIDE, Visitor
from tests.console.test_accessibility import overflow, violations
from tests.http.app import PASSWORD
from tests.http.identity.factors import move
from tests.signin.journeys import code, open_page, sign_in, someone, told

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

NEW = "a second password of mine"


async def enter(visitor: Visitor, email: str, password: str = PASSWORD) -> None:
    await open_page(visitor, "security", "")
    await visitor.page.wait_for_url("**/account/login?then=security")
    await sign_in(visitor, email, password)
    await expect(visitor.page.get_by_role("heading", name="Second factors")).to_be_visible()


@pytest.mark.promise(
    "sign-in pages, behaviour: Factors, sessions and password are looked after, each after a recent proof"
)
async def test_factors_are_added_used_and_removed(visitor: Visitor) -> None:
    page = visitor.page
    email = await someone(visitor, "guarded")
    await enter(visitor, email)
    await expect(page.get_by_text("your password alone lets you in")).to_be_visible()
    await page.get_by_role("button", name="Add an authenticator app").click()
    await expect(page.get_by_role("img", name="QR code")).to_be_visible()
    secret = await page.locator("#secret").inner_text()
    await page.get_by_label("Code that the app shows").fill(code(visitor, secret))
    await page.keyboard.press("Enter")
    await told(visitor, "The app is added.")
    assert (await page.locator("#factors b").all_inner_texts()) == ["Authenticator app"]
    assert [text.split(" · ")[0] for text in await page.locator("#sessions b").all_inner_texts()] == ["Chrome"]
    assert len((await page.locator("#recovery-codes").inner_text()).split()) == 10
    await page.get_by_role("button", name="Add a passkey").click()
    await told(visitor, "The passkey is added.")
    await expect(page.get_by_text("10 recovery codes are left.")).to_be_visible()
    move(visitor.service.app, timedelta(minutes=11))
    await page.get_by_role("button", name="New recovery codes").click()
    await expect(page.get_by_role("heading", name="Show again that it is you")).to_be_visible()
    await page.get_by_label("Code of your authenticator app").fill("000000")
    await page.keyboard.press("Enter")
    await told(visitor, "The code")
    await page.get_by_role("button", name="Use a passkey").click()
    await told(visitor, "take the place of the older ones")
    for name in ("Remove: Authenticator app", "Remove: Passkey"):
        await page.get_by_role("button", name=name).click()
        await told(visitor, "The factor is removed.")
    await expect(page.get_by_text("your password alone lets you in")).to_be_visible()


@pytest.mark.promise(
    "sign-in pages, behaviour: no rule of WCAG 2.2 AA is broken, wide and narrow, light and dark, in any colours"
)
async def test_every_step_of_the_page_breaks_no_rule(visitor: Visitor) -> None:
    page = visitor.page
    email = await someone(visitor, "stepping")
    await enter(visitor, email)
    move(visitor.service.app, timedelta(minutes=11))
    await page.get_by_role("button", name="Add an authenticator app").click()
    await expect(page.get_by_role("heading", name="Show again that it is you")).to_be_visible()
    assert await violations(visitor) == []
    await page.get_by_role("button", name="Cancel").click()
    await told(visitor, "Nothing was changed.")
    await page.get_by_role("button", name="Add an authenticator app").click()
    await page.locator("#proof-value").fill(PASSWORD)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("img", name="QR code")).to_be_visible()
    assert await violations(visitor) == []
    secret = await page.locator("#secret").inner_text()
    await page.get_by_label("Code that the app shows").fill(code(visitor, secret))
    await page.keyboard.press("Enter")
    await told(visitor, "The app is added.")
    assert await violations(visitor) == []


@pytest.mark.promise(
    "sign-in pages, behaviour: Factors, sessions and password are looked after, each after a recent proof"
)
async def test_other_sessions_are_ended_and_all_at_once(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    email = await someone(visitor, "travelled")
    await app.login("abroad", email)
    await enter(visitor, email)
    await expect(page.get_by_text("this session")).to_be_visible()
    await page.get_by_role("button", name="Sign out: ").click()
    await told(visitor, "That session has ended.")
    assert (await app.call("GET", "/api/auth/me", as_whom="abroad")).status_code == 401
    await page.get_by_role("button", name="Sign out everywhere").click()
    await page.wait_for_url("**/account/login?then=security")
    await open_page(visitor, "security", "")
    await page.wait_for_url("**/account/login?then=security")


async def test_a_page_that_was_open_for_longer_than_its_token_goes_on(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    email = await someone(visitor, "patient")
    await enter(visitor, email)
    move(app, timedelta(minutes=61))
    await page.get_by_role("button", name="Add an authenticator app").click()
    await expect(page.get_by_role("heading", name="Show again that it is you")).to_be_visible()
    await page.locator("#proof-value").fill(PASSWORD)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("img", name="QR code")).to_be_visible()
    await app.login("elsewhere", email)
    assert (await app.call("POST", "/api/auth/logout", as_whom="elsewhere")).status_code == 200
    await page.get_by_role("button", name="Sign out", exact=True).click()
    await page.wait_for_url("**/account/login?then=security")


async def test_a_page_does_nothing_for_who_signed_in_meanwhile(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    await enter(visitor, await someone(visitor, "first"))
    other = await visitor.context.new_page()
    await other.goto(page.url)
    await other.get_by_role("button", name="Sign out", exact=True).click()
    await other.wait_for_url("**/account/login?then=security")
    await other.get_by_label("E-mail").fill(second := await someone(visitor, "second"))
    await other.get_by_label("Password", exact=True).fill(PASSWORD)
    await other.keyboard.press("Enter")
    await expect(other.get_by_role("heading", name="Second factors")).to_be_visible()
    await other.close()
    move(app, timedelta(minutes=61))
    await page.get_by_role("button", name="Sign out everywhere").click()
    await expect(page.get_by_text(second)).to_be_visible()


@pytest.mark.promise(
    "sign-in pages, behaviour: Factors, sessions and password are looked after, each after a recent proof"
)
async def test_the_password_is_changed_after_the_current_one(visitor: Visitor) -> None:
    page = visitor.page
    email = await someone(visitor, "changing")
    await enter(visitor, email)
    for current, new, repeated, text in (
        (PASSWORD, NEW, "another", "not the same"),
        ("wrong", NEW, NEW, "The current password"),
        (PASSWORD, NEW, NEW, "The password is set."),
    ):
        await page.get_by_label("Current password").fill(current)
        await page.get_by_label("New password").fill(new)
        await page.get_by_label("The same again").fill(repeated)
        await page.get_by_role("button", name="Set the password").click()
        await told(visitor, text)
    await page.get_by_role("link", name="Sign in").click()
    await sign_in(visitor, email, NEW)
    await expect(page.get_by_role("heading", name="Second factors")).to_be_visible()
    await page.get_by_role("button", name="Sign out", exact=True).click()
    await page.wait_for_url("**/account/login?then=security")
    assert [cookie for cookie in await visitor.context.cookies() if cookie["name"] == "tenantry"] == []


@pytest.mark.promise(
    "sign-in pages, behaviour: no rule of WCAG 2.2 AA is broken, wide and narrow, light and dark, in any colours"
)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
async def test_the_page_breaks_no_rule(visitor: Visitor, theme: str, size: ViewportSize) -> None:
    await visitor.page.set_viewport_size(size)
    await visitor.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    await enter(visitor, "admin@acme.example")
    assert await violations(visitor) == []
    assert await overflow(visitor) <= 0
