"""/account/register in a browser, and the link to it where people make no accounts by themselves."""

import asyncio

import pytest
from playwright.async_api import Route, expect

from domain.scope import EveryTenant
from tests.console.conftest import Visitor
from tests.http.app import open_test_app
from tests.http.identity.steps import claims_of
from tests.signin.conftest import SHOP
from tests.signin.journeys import asked, exchanged, open_page, sign_in, told

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


@pytest.mark.parametrize("path", ["register", "login"])
async def test_the_page_does_not_take_the_focus_from_whoever_was_faster_than_its_script(
    visitor: Visitor, path: str
) -> None:
    page, typed = visitor.page, asyncio.Event()

    async def late(route: Route) -> None:
        await typed.wait()
        await route.continue_()

    await page.route(f"**/account-{path}.js*", late)
    await page.goto(f"{visitor.home}/account/{path}{asked()}", wait_until="commit")
    field = page.get_by_label("Password", exact=True)
    await field.click()
    typed.set()
    await page.wait_for_load_state()
    # a module that is imported again is the one that runs: this waits for its end
    await page.evaluate(f"import(document.querySelector('script[src*=account-{path}]').src)")
    await expect(field).to_be_focused()


async def test_a_taken_address_is_told(visitor: Visitor) -> None:
    await open_page(visitor, "register")
    await fill(visitor, "reader@acme.example")
    await told(visitor, "The e-mail")
    assert not visitor.page.url.startswith(SHOP)


@pytest.mark.promise("sign-in pages, behaviour: an account is made, and not where nobody makes their own")
async def test_without_self_registration_the_pages_offer_none() -> None:
    app = await open_test_app({"TENANTRY_SELF_REGISTRATION": "off"})
    login = (await app.call("GET", "/account/login")).text
    assert "<li hidden>" in login
    register = (await app.call("GET", "/account/register")).text
    assert '<form id="register-form" hidden>' in register
    assert "<p >Accounts are made by administrators" in register
    opened = await open_test_app()
    assert "<li hidden>" not in (await opened.call("GET", "/account/login")).text
