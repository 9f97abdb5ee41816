"""/account/login in a browser: password, passkey, second factor, tenant; for an application and for none."""

import re
from datetime import timedelta

import pytest
from playwright.async_api import ViewportSize, expect

from tests.console.conftest import NARROW, WIDE, Visitor, add_to_other
from tests.console.looks.test_accessibility import overflow, violations
from tests.http.identity.factors.factors import ask_for_factors, move
from tests.http.identity.factors.steps import claims_of
from tests.http.identity.hosted_login.handing_over import Shop
from tests.signin.conftest import SHOP
from tests.signin.journeys import asked, at_the_shop, code, exchanged, open_page, sign_in, someone, told

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.mark.promise(
    "sign-in pages, behaviour: a password, a passkey, a second factor or a new one lead to the application with a code"
)
async def test_a_password_leads_to_the_application_with_a_code(visitor: Visitor) -> None:
    page = visitor.page
    await open_page(visitor)
    await expect(page.get_by_text("to continue to The shop")).to_be_visible()
    await expect(page.get_by_label("E-mail")).to_be_focused()
    await sign_in(visitor, "reader@acme.example", "a wrong password")
    await told(visitor, "The e-mail or the password is wrong.")
    await sign_in(visitor, "reader@acme.example")
    login = await exchanged(visitor)
    claims = claims_of(login["token"])
    assert (claims["app_id"], claims["email"], claims["amr"]) == ("shop", "reader@acme.example", ["pwd"])
    # the history holds no way back into the page, and no address that ever held a token or a code of ours
    seen = [request.url for request in visitor.requests if request.url.startswith(visitor.home)]
    assert not [url for url in seen if "token" in url or "code=" in url]


async def test_a_registered_address_retains_its_query_and_gets_no_invented_state(visitor: Visitor) -> None:
    await open_page(visitor, query=asked(redirect=f"{SHOP}/in?from=mail", state=""))
    await sign_in(visitor, "reader@acme.example")
    assert (await at_the_shop(visitor, "/in?from=mail&code=")).keys() == {"from", "code"}


@pytest.mark.promise("sign-in pages, behaviour: Without an application a login ends at the console")
async def test_without_an_application_a_login_ends_at_the_console(visitor: Visitor) -> None:
    page = visitor.page
    await open_page(visitor, query="")
    await expect(page.get_by_text("to continue to")).to_be_hidden()
    await sign_in(visitor, "admin@acme.example")
    await page.wait_for_url(f"{visitor.home}/console/**")
    await expect(page.locator("nav.side")).to_be_attached()
    cookies = await visitor.context.cookies()
    assert [(cookie["name"], cookie["httpOnly"], cookie["sameSite"]) for cookie in cookies] == [
        ("tenantry", True, "Strict")
    ]


@pytest.mark.promise("sign-in pages, behaviour: one of several tenants is chosen")
async def test_one_of_several_tenants_is_chosen(visitor: Visitor) -> None:
    app, page = visitor.service.app, visitor.page
    email = "both@acme.example"
    await add_to_other(app, await app.make_user("acme", email, ["Admin"]))
    await open_page(visitor)
    await sign_in(visitor, email)
    await expect(page.get_by_role("heading", name="Choose a tenant")).to_be_visible()
    await expect(page.get_by_role("button", name="Acme")).to_be_focused()
    assert await violations(visitor) == []
    await page.get_by_role("button", name="Other").click()
    assert (await exchanged(visitor))["currentTenant"]["name"] == "Other"
    await open_page(visitor, query="")
    await sign_in(visitor, email)
    await page.get_by_role("button", name="Other").click()
    await page.wait_for_url(f"{visitor.home}/console/**")
    await expect(page.locator("nav.side")).to_be_attached()


@pytest.mark.promise(
    "sign-in pages, behaviour: a password, a passkey, a second factor or a new one lead to the application with a code"
)
async def test_an_app_and_a_recovery_code_are_second_factors(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    email = await someone(visitor, "careful")
    secret, codes = await add_app(visitor, email)
    for field, value, method in (
        ("Code of your authenticator app", code(visitor, secret), "otp"),
        ("Recovery code", codes[0], "rec"),
    ):
        await open_page(visitor)
        await sign_in(visitor, email)
        await expect(page.get_by_role("heading", name="Second factor")).to_be_visible()
        await expect(page.get_by_role("button", name="Use a passkey")).to_be_hidden()
        assert await violations(visitor) == []
        box = page.get_by_role("textbox", name=field)
        await box.fill("000000")
        await page.keyboard.press("Enter")
        await told(visitor, "The code")
        await box.fill(value)
        await page.keyboard.press("Enter")
        assert claims_of((await exchanged(visitor))["token"])["amr"] == ["pwd", method, "mfa"]
        move(app, timedelta(seconds=60))


async def test_a_login_that_waited_too_long_begins_again(visitor: Visitor) -> None:
    page = visitor.page
    email = await someone(visitor, "slow")
    secret, _ = await add_app(visitor, email)
    await open_page(visitor)
    await sign_in(visitor, email)
    await expect(page.get_by_label("Code of your authenticator app")).to_be_focused()
    move(visitor.service.app, timedelta(minutes=6))
    await page.get_by_label("Code of your authenticator app").fill(code(visitor, secret))
    await page.keyboard.press("Enter")
    await told(visitor, "That took too long")
    await expect(page.get_by_label("Password")).to_have_value("")


@pytest.mark.promise(
    "sign-in pages, behaviour: a password, a passkey, a second factor or a new one lead to the application with a code"
)
async def test_a_required_factor_is_set_up_with_its_recovery_codes_shown(visitor: Visitor) -> None:
    page = visitor.page
    email = await strict(visitor, "phones")
    await open_page(visitor)
    await sign_in(visitor, email)
    await expect(page.get_by_role("heading", name="Set up a second factor")).to_be_visible()
    await page.get_by_role("button", name="Authenticator app").click()
    await expect(page.get_by_role("img", name="Code to scan")).to_be_visible()
    assert await page.get_by_role("img").evaluate("image => image.decode().then(() => image.naturalWidth)")
    assert await violations(visitor) == []
    secret = await page.locator("pre").inner_text()
    await page.get_by_label("Code that the app shows").fill("000000")
    await page.keyboard.press("Enter")
    await told(visitor, "The code")
    await page.get_by_label("Code that the app shows").fill(code(visitor, secret))
    await page.keyboard.press("Enter")
    await shown_codes(visitor)
    assert claims_of((await exchanged(visitor))["token"])["amr"] == ["pwd", "otp", "mfa"]


@pytest.mark.promise(
    "sign-in pages, behaviour: a password, a passkey, a second factor or a new one lead to the application with a code"
)
async def test_a_required_factor_may_be_a_passkey(visitor: Visitor) -> None:
    email = await strict(visitor, "keys")
    await open_page(visitor)
    await sign_in(visitor, email)
    await visitor.page.get_by_role("button", name="Passkey", exact=True).click()
    await shown_codes(visitor)
    assert "mfa" in claims_of((await exchanged(visitor))["token"])["amr"]


async def strict(visitor: Visitor, tenant: str) -> str:
    """A member of a new tenant that requires a second factor."""
    app = visitor.service.app
    await app.login("root", "admin@example.com")
    await ask_for_factors(app, await app.make_tenant(tenant))
    return await someone(visitor, "member", tenant)


@pytest.mark.promise(
    "sign-in pages, behaviour: a password, a passkey, a second factor or a new one lead to the application with a code"
)
async def test_a_passkey_is_a_complete_login_and_a_second_factor(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    email = await someone(visitor, "handy")
    await app.login(email, email)
    await open_page(visitor, query="")
    await page.evaluate(MAKE_PASSKEY, app.tokens[email])
    await open_page(visitor)
    await page.get_by_role("button", name="Sign in with a passkey").click()
    assert claims_of((await exchanged(visitor))["token"])["email"] == email
    await open_page(visitor)
    await sign_in(visitor, email)
    await page.get_by_role("button", name="Use a passkey").click()
    assert claims_of((await exchanged(visitor))["token"])["email"] == email
    await open_page(visitor, query="")
    await page.get_by_role("button", name="Sign in with a passkey").click()
    await page.wait_for_url(f"{visitor.home}/console/**")


async def test_passkeys_are_offered_at_the_field_to_those_who_come_to_it(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    email = await someone(visitor, "offered")
    await app.login(email, email)
    await open_page(visitor, query="")
    await page.evaluate(MAKE_PASSKEY, app.tokens[email])
    asked_before = len(visitor.requests)
    await open_page(visitor)
    field = page.get_by_label("E-mail")
    await expect(field).to_be_focused()
    await expect(field).to_have_attribute("autocomplete", "username webauthn")
    # a page that is only looked at asks for nothing, which would count towards the limit of logins
    assert not [request for request in visitor.requests[asked_before:] if "passkeys" in request.url]
    await field.click()
    assert claims_of((await exchanged(visitor))["token"])["email"] == email


MAKE_PASSKEY = """async token => {
    const post = async (path, body) => (await (await fetch(path, {
        method: 'POST', body: JSON.stringify(body),
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    })).json()).data;
    const { options, state } = await post('/api/auth/factors/passkeys/begin', {});
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
    const response = (await navigator.credentials.create({ publicKey })).toJSON();
    await post('/api/auth/factors/passkeys/finish', { state, response });
}"""


async def shown_codes(visitor: Visitor) -> None:
    await expect(visitor.page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    assert len((await visitor.page.locator("pre").inner_text()).split()) == 10
    assert await violations(visitor) == []
    await visitor.page.get_by_role("button", name="I have stored them").click()


async def add_app(visitor: Visitor, email: str) -> tuple[str, list[str]]:
    """Sets up an authenticator app by the API; its secret and the recovery codes."""
    app = visitor.service.app
    await app.login(email, email)
    begun = (await app.call("POST", "/api/auth/factors/totp/begin", as_whom=email, json={})).json()["data"]
    body = {"state": begun["state"], "code": code(visitor, begun["secret"])}
    done = await app.call("POST", "/api/auth/factors/totp/finish", as_whom=email, json=body)
    assert done.status_code == 201, done.text
    move(app, timedelta(seconds=60))
    return begun["secret"], done.json()["data"]["recoveryCodes"]


@pytest.mark.promise("sign-in pages, attacks: a link with a wrong application, address, challenge or method")
async def test_a_wrong_link_shows_an_error_and_goes_nowhere(visitor: Visitor) -> None:
    answer = await visitor.page.goto(f"{visitor.home}/account/login{asked(redirect='https://evil.example/')}")
    assert answer is not None
    assert answer.status == 400
    await expect(visitor.page.get_by_role("heading", name="This link does not work")).to_be_visible()
    assert await visitor.page.locator("a, form, script, button").count() == 0


@pytest.mark.promise("sign-in pages, attacks: Markup in the parameters of a link")
async def test_the_error_page_is_accessible_and_escapes_markup(visitor: Visitor) -> None:
    await open_page(visitor, query=asked(app="<img src=x onerror=alert(1)>"))
    assert await violations(visitor) == []
    assert await visitor.page.locator("img").count() == 0
    await open_page(visitor, query=asked(state='"><img src=x onerror=alert(1)>'))
    await expect(visitor.page.get_by_label("E-mail")).to_be_visible()
    assert await visitor.page.locator("main img").count() == 0


@pytest.mark.promise(
    "sign-in pages, behaviour: no rule of WCAG 2.2 AA is broken, wide and narrow, light and dark, in any colours"
)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
async def test_the_page_breaks_no_rule_in_the_tenants_colours(visitor: Visitor, theme: str, size: ViewportSize) -> None:
    page, app = visitor.page, visitor.service.app
    tenant_id = claims_of(app.tokens["acme"])["tenant_id"]
    for number, color in enumerate(("#ffe000", "#102040", "#808080")):
        await app.login("acme", "admin@acme.example")
        branding = {"name": "Acme & Sons", "primaryColor": color, "supportEmail": "help@acme.example"}
        body = {"branding": branding}
        changed = await app.call("PUT", "/api/tenants/current/settings", as_whom="acme", json=body)
        assert changed.status_code == 200, changed.text
        own = await Shop(app, f"acme-{theme}-{size['width']}-{number}").register(
            redirectUrls=[f"{SHOP}/in"], allowedTenantIds=[tenant_id]
        )
        await page.set_viewport_size(size)
        await page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        for path in ("login", "register"):
            await open_page(visitor, path, asked(app=own.app_id))
            await expect(page.get_by_text("Acme & Sons")).to_be_visible()
            await expect(page.get_by_role("link", name="help@acme.example")).to_be_visible()
            assert await violations(visitor) == []
            assert await overflow(visitor) <= 0
        painted = await page.get_by_role("button", name="Make the account").evaluate(
            "button => getComputedStyle(button).backgroundColor"
        )
        assert painted == f"rgb({', '.join(str(int(color[at : at + 2], 16)) for at in (1, 3, 5))})"


@pytest.mark.promise(
    "sign-in pages, behaviour: no rule of WCAG 2.2 AA is broken, wide and narrow, light and dark, in any colours"
)
async def test_everything_is_reached_by_the_keyboard_with_a_focus_that_is_seen(visitor: Visitor) -> None:
    await open_page(visitor)
    await expect(visitor.page.get_by_label("E-mail")).to_be_focused()
    names = []
    for _ in range(8):
        names.append(
            await visitor.page.evaluate(
                "() => { const e = document.activeElement;"
                " return [e.labels?.[0]?.textContent || e.textContent, getComputedStyle(e).outlineStyle]; }"
            )
        )
        await visitor.page.keyboard.press("Tab")
    assert [name for name, _ in names] == [
        "E-mail",
        "Password",
        "Sign in",
        "Sign in with a passkey",
        "Continue with Google",
        "Continue with GitHub",
        "Forgot your password?",
        "Make an account",
    ]
    assert {style for _, style in names} <= {"solid", "auto"}


@pytest.mark.promise("sign-in pages, attacks: Framing by a page of another origin")
async def test_the_login_page_cannot_be_framed_by_another_page(visitor: Visitor) -> None:
    """Clickjacking: a page elsewhere that shows ours under its own buttons."""
    page = visitor.page
    frame = f'<iframe src="{visitor.home}/account/login{asked().replace("&", "&amp;")}"></iframe>'
    await page.route(f"{SHOP}/frame", lambda route: route.fulfill(content_type="text/html", body=frame))
    await page.goto(f"{SHOP}/frame")
    while not visitor.complaints:  # the browser tells of the refusal
        await page.wait_for_timeout(20)
    shown = [await found.evaluate("() => document.body.innerText") for found in page.frames[1:]]
    assert not [text for text in shown if re.search("Sign in", text)]
    visitor.complaints.clear()
