"""/account/register in a browser, and the link to it where people make no accounts by themselves."""

from urllib.parse import urlsplit

import pytest
from playwright.async_api import Route, expect

from domain.scope import EveryTenant
from tests.console.conftest import Visitor
from tests.http.app import open_test_app
from tests.http.identity.steps import claims_of
from tests.signin.conftest import SHOP
from tests.signin.journeys import exchanged, open_page, sign_in, told

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


async def test_a_taken_address_is_told(visitor: Visitor) -> None:
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
