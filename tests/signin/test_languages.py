"""Account pages in German, and turned right to left, on a telephone."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.console.conftest import NARROW, Service, Visitor
from tests.console.looks.test_accessibility import overflow, violations
from tests.signin.journeys import open_page, sign_in_in_german, told

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

HEADINGS = {
    "login": "Anmelden",
    "register": "Konto anlegen",
    "confirm#email=ada%40example.com&token=x": "E-Mail-Adresse bestätigen",
    "reset#email=ada%40example.com&token=x": "Neues Passwort setzen",
    "invitation": "Einladung",
    "login?app=unknown": "Dieser Link funktioniert nicht",
}


@pytest_asyncio.fixture
async def visitor(service: Service, chromium: Browser) -> AsyncIterator[Visitor]:
    """Somebody with a telephone that speaks German."""
    await service.renew_tokens()
    context = await chromium.new_context(viewport=NARROW, locale="de-CH")
    visitor = Visitor(service, context, await context.new_page())
    visitor.watch(visitor.page)
    yield visitor
    await context.close()
    assert visitor.complaints == []


async def test_german_pages_turned_right_to_left_fit_a_telephone(visitor: Visitor) -> None:
    page = visitor.page
    for path, heading in HEADINGS.items():
        await page.goto("about:blank")
        await open_page(visitor, path, query="")
        title = page.get_by_role("heading", level=1)
        await expect(title).to_have_text(heading)
        assert await overflow(visitor) <= 0, path
        await page.evaluate("document.documentElement.dir = 'rtl'")
        assert await overflow(visitor) <= 0, path
        assert await title.evaluate("element => getComputedStyle(element).direction") == "rtl"
        assert await violations(visitor) == [], path


async def test_a_refusal_by_the_service_is_shown_in_german(visitor: Visitor) -> None:
    page = visitor.page
    await open_page(visitor, query="")
    await sign_in_in_german(visitor, "admin@acme.example", "not the password")
    await told(visitor, "E-Mail oder Passwort ist falsch.")
    await open_page(visitor, "register", query="")
    await page.get_by_label("Vollständiger Name").fill("Ada Byron")
    await page.get_by_label("E-Mail").fill("ada@example.com")
    for label in ("Passwort", "Noch einmal dasselbe"):
        await page.get_by_label(label, exact=True).fill("password123")
    await page.get_by_role("button", name="Konto anlegen").click()
    await told(visitor, "Das Passwort ist eines der häufigsten Passwörter: Wählen Sie ein anderes.")


async def test_the_account_is_looked_after_in_german(visitor: Visitor) -> None:
    page = visitor.page
    await open_page(visitor, query="?then=security")
    await sign_in_in_german(visitor, "admin@acme.example")
    await expect(page.get_by_role("heading", name="Sitzungen")).to_be_visible()
    await expect(page.get_by_text("diese", exact=True)).to_be_visible()
    await page.evaluate("document.documentElement.dir = 'rtl'")
    assert await overflow(visitor) <= 0
