"""The page that encrypts a password, in a real browser: what it shows is what it runs, and it logs in."""

from collections.abc import AsyncIterator
from html import escape

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from adapters.http.static_files import ASSETS
from tests.http.app import PASSWORD, TestApp
from tests.http.docs.test_docs_page import BROWSER, HOME, Visit

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine: the page is not driven"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest_asyncio.fixture
async def visit(app: TestApp, chromium: Browser) -> AsyncIterator[Visit]:
    context = await chromium.new_context()
    page = await context.new_page()
    made = Visit(page, app)
    page.on("console", lambda said: made.complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: made.complaints.append(str(error)))
    await context.route("**/*", made.answer)
    await page.clock.set_fixed_time(app.adapters.clock.now())
    await page.goto(f"{HOME}/docs/encrypted-passwords.html")
    yield made
    await context.close()


async def log_in(page: Page, password: str) -> None:
    await page.get_by_label("E-mail address").fill("admin@acme.example")
    await page.get_by_label("Password", exact=True).fill(password)
    await page.get_by_role("button", name="Log in").click()


@pytest.mark.promise("identity, encrypted passwords: a page demonstrates encryption in a browser")
async def test_a_browser_logs_in_with_an_encrypted_password(visit: Visit) -> None:
    bodies: list[str] = []
    visit.page.on("request", lambda request: bodies.append(request.post_data or ""))
    await log_in(visit.page, PASSWORD)
    await expect(visit.page.get_by_role("status")).to_have_text("Logged in: a Tenant Token.")
    sent = await visit.page.get_by_label("What was sent").text_content() or ""
    assert sent.count(".") == 4
    assert any(sent in body for body in bodies)
    assert not any(PASSWORD in body for body in bodies)
    assert (visit.strangers, visit.complaints) == ([], [])


async def test_a_wrong_one_is_told_in_words(visit: Visit) -> None:
    await log_in(visit.page, "ein falsches Paßwort 🔑")
    await expect(visit.page.get_by_role("status")).to_have_text("The e-mail or the password is wrong.")


async def test_it_shows_the_ten_lines_that_it_runs(visit: Visit) -> None:
    code = (ASSETS / "encrypted-passwords.js").read_text()
    assert escape(code) in escape(await visit.page.get_by_label("The code").text_content() or "")
    body = code[code.index("{\n") : code.rindex("}")].strip().splitlines()
    assert len(body) - 1 == 10
    await expect(visit.page.get_by_role("heading", level=1)).to_have_text("Encrypted passwords")
    assert await visit.page.get_attribute("html", "lang") == "en"
