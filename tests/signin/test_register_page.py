"""/account/register in a browser, and the link to it where people make no accounts by themselves.

A login at a provider in a browser: from the page, by the provider, to the application or the console.
"""

from urllib.parse import urlencode, urlsplit
from uuid import UUID

import pytest
from playwright.async_api import Route, expect

from adapters.memory.identity.social import IssuedCode, MemorySocialProviders
from application.ports.identity.accounts import Authorization, SocialIdentity
from domain.scope import EveryTenant
from tests.console.conftest import Visitor, add_to_other
from tests.http.app import open_test_app
from tests.http.identity.factors.steps import claims_of
from tests.http.identity.hosted_login.handing_over import query_of
from tests.signin.conftest import PROVIDER, SHOP
from tests.signin.journeys import code, exchanged, open_page, sign_in, someone, told
from tests.signin.test_login_page import add_app

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

NEW = "a password of my own"


async def fill(visitor: Visitor, email: str, password: str = NEW, repeated: str = NEW) -> None:
    page = visitor.page
    await page.get_by_label("Full name").fill("Ada Byron")
    await page.get_by_label("E-mail").fill(email)
    await page.get_by_role("textbox", name="Password", exact=True).fill(password)
    await page.get_by_label("The same again").fill(repeated)
    await page.get_by_role("button", name="Make the account").click()


@pytest.mark.promise("sign-in pages, behaviour: an account is made, and not where nobody makes their own")
async def test_an_account_is_made_and_confirmed_and_signs_in(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    await open_page(visitor)
    await page.get_by_role("link", name="Make an account").click()
    await expect(page.get_by_role("heading", name="Make an account")).to_be_visible()
    await expect(page.get_by_text("to continue to The shop")).to_be_visible()
    await fill(visitor, "ada@example.com", repeated="another one")
    await told(visitor, "not the same")
    await fill(visitor, "ada@example.com", "password123", "password123")
    await told(visitor, "The password is among the most common passwords")
    await fill(visitor, "ada@example.com")
    await told(visitor, "Open the link in the mail")
    async with app.adapters.database.transaction(EveryTenant()) as tx:
        state = await tx.users.state_by_email("ada@example.com")
        assert state is not None
        await tx.credentials.confirm_email(state.user.id, "ada@example.com", app.adapters.clock.now())
    await page.get_by_role("link", name="Sign in with an account that you have").click()
    await page.wait_for_url("**/account/login**")  # the page before has fields of the same names
    await sign_in(visitor, "ada@example.com", NEW)
    assert claims_of((await exchanged(visitor))["token"])["email"] == "ada@example.com"


async def test_a_duplicate_address_is_reported(visitor: Visitor) -> None:
    await open_page(visitor, "register")
    await fill(visitor, "reader@acme.example")
    await told(visitor, "The e-mail")
    assert not visitor.page.url.startswith(SHOP)


@pytest.mark.promise("sign-in pages, behaviour: an account is made, and not where nobody makes their own")
async def test_without_self_registration_the_pages_offer_none(visitor: Visitor) -> None:
    closed = await open_test_app({"TENANTRY_SELF_REGISTRATION": "off"})
    page = visitor.page

    async def answer(route: Route) -> None:
        told = await closed.call("GET", urlsplit(route.request.url).path)
        await route.fulfill(status=told.status_code, headers=dict(told.headers), body=told.content)

    await page.route("**/account/*", answer)
    await open_page(visitor, query="")
    await expect(page.get_by_role("link", name="Forgot your password?")).to_be_visible()
    await expect(page.get_by_role("link", name="Make an account")).to_have_count(0)
    await open_page(visitor, "register", query="")
    await expect(page.get_by_text("Accounts are made by administrators")).to_be_visible()
    await expect(page.get_by_role("textbox")).to_have_count(0)
    await closed.client.aclose()


async def provide(visitor: Visitor, email: str) -> None:
    """A provider at which somebody with this address is signed in, and asked whether they agree."""
    providers = visitor.service.app.adapters.social
    assert isinstance(providers, MemorySocialProviders)

    async def answer(route: Route) -> None:
        sent = query_of(route.request.url)
        identity = SocialIdentity(provider="google", subject=email, email=email, email_verified=True, name="Ada Byron")
        asked = Authorization(
            redirect_uri=sent["redirect_uri"],
            state=sent["state"],
            nonce=sent["nonce"],
            challenge=sent["code_challenge"],
        )
        given = f"code-{len(providers.codes)}-{email}"
        providers.codes[given] = IssuedCode(identity, asked)
        back = f"{sent['redirect_uri']}?{urlencode({'code': given, 'state': sent['state'], 'scope': 'email'})}"
        no = f"{sent['redirect_uri']}?{urlencode({'error': 'access_denied', 'state': sent['state']})}"
        links = f'<a href="{back.replace("&", "&amp;")}">Agree</a> <a href="{no.replace("&", "&amp;")}">Refuse</a>'
        await route.fulfill(content_type="text/html", body=links)

    await visitor.context.route(f"{PROVIDER}/**", answer)


async def by_provider(visitor: Visitor, answer: str = "Agree") -> None:
    await visitor.page.get_by_role("link", name="Continue with Google").click()
    await visitor.page.get_by_role("link", name=answer).click()


async def prove(visitor: Visitor, email: str) -> None:
    """Proves the address, so that the provider's word opens the account and clears nothing of it."""
    app = visitor.service.app
    await app.login(email, email)
    user_id = UUID(claims_of(app.tokens[email])["sub"])
    async with app.adapters.database.transaction(EveryTenant()) as tx:
        await tx.credentials.confirm_email(user_id, email, app.adapters.clock.now())


@pytest.mark.promise("sign-in pages, behaviour: a login at a provider ends in the same code, or at the console")
async def test_a_new_person_comes_to_the_application_by_a_provider(visitor: Visitor) -> None:
    await provide(visitor, "grace@example.com")
    await open_page(visitor)
    await by_provider(visitor, "Refuse")
    await told(visitor, "was not finished")
    assert visitor.page.url.startswith(f"{visitor.home}/account/login?app=shop")
    await by_provider(visitor)
    claims = claims_of((await exchanged(visitor))["token"])
    assert (claims["email"], claims["amr"]) == ("grace@example.com", ["social"])


@pytest.mark.promise("sign-in pages, behaviour: a tenant and a second factor are asked for after a provider too")
async def test_a_tenant_and_a_second_factor_are_asked_for_on_the_page(visitor: Visitor) -> None:
    page, app, email = visitor.page, visitor.service.app, "hopper@acme.example"
    await add_to_other(app, await app.make_user("acme", email, ["Admin"]))
    await prove(visitor, email)
    await provide(visitor, email)
    await open_page(visitor)
    await by_provider(visitor)
    await expect(page.get_by_role("button", name="Other")).to_be_visible()
    assert page.url.startswith(f"{visitor.home}/account/login?app=shop")
    await page.get_by_role("button", name="Other").click()
    assert (await exchanged(visitor))["currentTenant"]["name"] == "Other"
    secret, _ = await add_app(visitor, email)
    await open_page(visitor)
    await by_provider(visitor)
    await page.get_by_label("Code of your authenticator app").fill(code(visitor, secret))
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Acme").click()
    assert claims_of((await exchanged(visitor))["token"])["amr"] == ["social", "otp", "mfa"]


@pytest.mark.promise("sign-in pages, behaviour: Linked accounts are shown and unlinked")
async def test_without_an_application_it_ends_at_the_console_and_the_account_is_shown(visitor: Visitor) -> None:
    page = visitor.page
    email = await someone(visitor, "linked")
    await prove(visitor, email)
    await provide(visitor, email)
    await open_page(visitor, query="")
    await by_provider(visitor)
    await page.wait_for_url(f"{visitor.home}/console/**")
    await expect(page.locator("nav.side")).to_be_attached()
    await open_page(visitor, "security", "")
    await page.get_by_role("button", name="Unlink: google").click()
    await visitor.said("The account is unlinked.")
    await expect(page.get_by_text("You sign in with no account elsewhere.")).to_be_visible()
