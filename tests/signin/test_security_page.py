"""/account/security in a browser: factors, sessions, identities, password, each after a recent proof.

The front end of docs/sign-in-pages.md in a browser, on an origin of its own.
"""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.async_api import Route, ViewportSize, expect

from tests.console.conftest import NARROW, WIDE, Visitor
from tests.console.looks.test_accessibility import overflow, violations
from tests.http.app import PASSWORD
from tests.http.identity.factors.factors import move
from tests.http.identity.factors.steps import claims_of
from tests.http.identity.hosted_login.handing_over import Shop
from tests.signin.conftest import SHOP
from tests.signin.journeys import code, open_page, sign_in, someone

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

NEW = "a second password of mine"


async def enter(visitor: Visitor, email: str, password: str = PASSWORD) -> None:
    await open_page(visitor, "security", "")
    await visitor.page.wait_for_url("**/account/login?then=security")
    await sign_in(visitor, email, password)
    await expect(visitor.page.get_by_role("heading", name="Second factors")).to_be_visible()


async def add_app(visitor: Visitor) -> str:
    """Sets up an authenticator app on the page; its recovery codes."""
    page = visitor.page
    await page.get_by_role("button", name="Add an app").click()
    dialog = page.get_by_role("dialog", name="Add an app")
    await expect(dialog.get_by_role("img", name="Code to scan")).to_be_visible()
    secret = await dialog.locator("pre").inner_text()
    assert await violations(visitor) == []
    await dialog.get_by_label("Code").fill(code(visitor, secret))
    await page.keyboard.press("Enter")
    return await kept_codes(visitor)


async def kept_codes(visitor: Visitor) -> str:
    codes = visitor.page.get_by_role("dialog", name="Recovery codes")
    shown = await codes.locator("pre").inner_text()
    await codes.get_by_role("button", name="Close").click()
    return shown


@pytest.mark.promise(
    "sign-in pages, behaviour: Factors, sessions and password are looked after, each after a recent proof"
)
async def test_factors_are_added_used_and_removed(visitor: Visitor) -> None:
    page = visitor.page
    await enter(visitor, await someone(visitor, "guarded"))
    await expect(page.get_by_text("your password is enough to sign in")).to_be_visible()
    assert len((await add_app(visitor)).split()) == 10
    await expect(page.get_by_text("Authenticator app", exact=True).first).to_be_visible()
    await expect(page.get_by_text("Chrome · Linux")).to_be_visible()
    await page.get_by_role("button", name="Add a passkey").click()
    await page.get_by_role("button", name="Make a passkey").click()
    await expect(page.get_by_role("button", name="Remove Passkey")).to_be_visible()
    await expect(page.get_by_text("10 recovery codes are left")).to_be_visible()
    move(visitor.service.app, timedelta(minutes=11))
    await page.get_by_role("button", name="New recovery codes").click()
    await page.get_by_role("dialog").get_by_role("button", name="New recovery codes").click()
    proof = page.get_by_role("dialog", name="Show that it is you")
    await proof.get_by_label("Code").fill("000000")
    await page.keyboard.press("Enter")
    await expect(proof.get_by_role("alert")).to_be_visible()
    await proof.get_by_role("button", name="Use a passkey").click()
    assert len((await kept_codes(visitor)).split()) == 10
    for name in ("Remove Authenticator app", "Remove Passkey"):
        await page.get_by_role("button", name=name).click()
        await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        await expect(page.get_by_role("button", name=name)).to_have_count(0)
    await expect(page.get_by_text("your password is enough to sign in")).to_be_visible()


@pytest.mark.promise(
    "sign-in pages, behaviour: no rule of WCAG 2.2 AA is broken, wide and narrow, light and dark, in any colours"
)
async def test_every_step_of_the_page_breaks_no_rule(visitor: Visitor) -> None:
    page = visitor.page
    await enter(visitor, await someone(visitor, "stepping"))
    move(visitor.service.app, timedelta(minutes=11))
    await page.get_by_role("button", name="Add an app").click()
    proof = page.get_by_role("dialog", name="Show that it is you")
    await expect(proof.get_by_label("Password")).to_be_focused()
    assert await violations(visitor) == []
    await proof.get_by_role("button", name="Close").click()
    await expect(page.get_by_role("button", name="Add an app")).to_be_focused()
    await page.get_by_role("button", name="Add an app").click()
    await proof.get_by_label("Password").fill(PASSWORD)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("img", name="Code to scan")).to_be_visible()
    assert await violations(visitor) == []
    await page.keyboard.press("Escape")
    await add_app(visitor)
    assert await violations(visitor) == []


@pytest.mark.promise(
    "sign-in pages, behaviour: Factors, sessions and password are looked after, each after a recent proof"
)
async def test_other_sessions_are_ended_and_all_at_once(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    email = await someone(visitor, "travelled")
    await app.login("abroad", email)
    await enter(visitor, email)
    await expect(page.get_by_text("this one")).to_be_visible()
    await page.get_by_role("button", name="End", exact=True).click()
    await visitor.said("The session is ended.")
    assert (await app.call("GET", "/api/auth/me", as_whom="abroad")).status_code == 401
    await page.get_by_role("button", name="Sign out everywhere").click()
    await page.get_by_role("dialog").get_by_role("button", name="Sign out everywhere").click()
    await page.wait_for_url("**/account/login?then=security")
    await open_page(visitor, "security", "")
    await page.wait_for_url("**/account/login?then=security")


async def test_a_page_that_is_open_longer_than_its_token_continues(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    email = await someone(visitor, "patient")
    await enter(visitor, email)
    move(app, timedelta(minutes=61))
    await page.get_by_role("button", name="Add an app").click()
    await page.get_by_role("dialog", name="Show that it is you").get_by_label("Password").fill(PASSWORD)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("img", name="Code to scan")).to_be_visible()
    await page.keyboard.press("Escape")
    await app.login("elsewhere", email)
    assert (await app.call("POST", "/api/auth/logout", as_whom="elsewhere")).status_code == 200
    await page.get_by_role("button", name="Sign out", exact=True).click()
    await page.wait_for_url("**/account/login?then=security")


async def test_a_page_of_a_signed_out_user_does_not_act_for_another_user(visitor: Visitor) -> None:
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
    await page.get_by_role("dialog").get_by_role("button", name="Sign out everywhere").click()
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
        ("wrong", NEW, NEW, "is not your current password"),
        (PASSWORD, NEW, NEW, "The password is set."),
    ):
        await page.get_by_label("Current password").fill(current)
        await page.get_by_label("New password").fill(new)
        await page.get_by_label("The same again").fill(repeated)
        await page.get_by_role("button", name="Change password").click()
        await expect(page.get_by_text(text)).to_be_visible()
    await expect(page.locator(".told")).to_be_focused()
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


PAGE = Path(__file__).resolve().parents[2] / "docs" / "sign-in-pages.md"
(CODE,) = re.findall(r"^```js\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.promise("sign-in pages, behaviour: the front end of the page works")
async def test_the_front_end_of_the_document_signs_somebody_in(visitor: Visitor) -> None:
    page = visitor.page
    # the addresses of the document, as they are here
    code = CODE.replace("https://id.example", visitor.home).replace("https://shop.example/signed-in", f"{SHOP}/in")
    markup = f'<button onclick="signIn()">Sign in</button><script>{code}</script>'

    async def shop(route: Route) -> None:
        await route.fulfill(content_type="text/html", body=markup)

    async def exchange(route: Route) -> None:
        """As the service answers with TENANTRY_CORS_ORIGINS, which the service of these tests has not set."""
        allowed = {"Access-Control-Allow-Origin": SHOP, "Access-Control-Allow-Headers": "content-type"}
        if route.request.method == "OPTIONS":
            await route.fulfill(status=204, headers=allowed)
            return
        answer = await route.fetch()
        await route.fulfill(response=answer, headers={**answer.headers, **allowed})

    await page.route(f"{SHOP}/**", shop)
    await page.route("**/api/auth/code", exchange)
    await page.goto(f"{SHOP}/")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_text("to continue to The shop")).to_be_visible()
    await sign_in(visitor, "reader@acme.example")
    await page.wait_for_url(f"{SHOP}/in?**")
    login = await page.evaluate("signedIn()")
    assert claims_of(login["token"])["app_id"] == "shop"
    assert page.url == f"{SHOP}/in"
    me = await Shop(visitor.service.app).me(login["token"])
    assert me.json()["data"]["email"] == "reader@acme.example"
    await page.goto(f"{SHOP}/in?code=somebody-elses&state=guessed")
    with pytest.raises(Exception, match="did not begin here"):
        await page.evaluate("signedIn()")
