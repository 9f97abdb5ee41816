"""The page that the link of an invitation leads to, in a real browser.

The page that encrypts a password, in a real browser: what it shows is what it runs, and it logs in.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from html import escape

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright, expect

from adapters.http.static_files import ASSETS
from tests.http.app import PASSWORD, TestApp
from tests.http.docs.test_account_pages import read_before_told, told
from tests.http.docs.test_docs_page import BROWSER, FLAGS, HOME, Visit
from tests.http.identity.joining.invited import ADA, Invited, open_invited

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine: the page is not driven"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@dataclass
class Guest:
    """Somebody with a browser, whom tenants invite."""

    page: Page
    invited: Invited

    async def open(self, token: str) -> None:
        await self.page.goto("about:blank")
        await self.page.goto(f"{HOME}/account/invitation#token={token}")

    async def told(self, text: str) -> None:
        await told(self.page, text)


@pytest_asyncio.fixture(scope="module")
async def guest(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Guest]:
    async with open_invited() as invited, async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"), executable_path=BROWSER, headless=True, args=FLAGS
        )
        page = context.pages[0]
        visit = Visit(page, invited.tenants.app)
        page.on("pageerror", lambda error: visit.complaints.append(str(error)))
        page.on("console", lambda said: visit.complaints.append(said.text) if "Security" in said.text else None)
        await context.route("**/*", visit.answer)
        yield Guest(page, invited)
        assert (visit.strangers, visit.complaints) == ([], [])
        await context.close()


def living_sessions_of(guest: Guest, email: str) -> int:
    """Sessions that the person would see in their list; a page that keeps no tokens leaves none behind."""
    store = guest.invited.database.committed()
    (user_id,) = [user.id for user in store.users.values() if user.email == email]
    return len([made for made in store.sessions.values() if made.user_id == user_id and made.ended_at is None])


@pytest.mark.promise(
    "tenants, acceptance: the page of the service joins by mouse and keyboard, and says what it is to those who listen"
)
async def test_a_new_person_joins_on_the_page(guest: Guest) -> None:
    page = guest.page
    _, token = await guest.invited.invited()
    await guest.open(token)
    await expect(page.get_by_text("Somebody Else invites ada@example.com to join Acme.")).to_be_visible()
    assert page.url == f"{HOME}/account/invitation"
    await expect(page.get_by_role("textbox", name="E-mail")).to_have_value(ADA)
    await page.get_by_label("Full name").fill("Ada Byron")
    await page.get_by_role("textbox", name="Password", exact=True).fill("password123")
    await page.get_by_label("The same again").fill("another one")
    submit = page.get_by_role("button", name="Make the account and join")
    await submit.click()
    await guest.told("not the same")
    await page.get_by_label("The same again").fill("password123")
    await submit.click()
    await guest.told("The password is among the most common passwords")
    for label in ("Password", "The same again"):
        await page.get_by_role("textbox", name=label, exact=True).fill("a first password")
    await page.get_by_label("The same again").press("Enter")
    await guest.told("you have joined")
    assert ADA in await guest.invited.members()
    assert living_sessions_of(guest, ADA) == 0
    await guest.open(token)
    await guest.told("was used, or is not valid any more")
    await expect(submit).to_be_hidden()


@pytest.mark.promise(
    "tenants, acceptance: the page of the service joins by mouse and keyboard, and says what it is to those who listen"
)
async def test_somebody_with_an_account_joins_on_the_page(guest: Guest) -> None:
    page = guest.page
    await guest.invited.person("bob", "bob@example.com")
    before = living_sessions_of(guest, "bob@example.com")
    _, token = await guest.invited.invited("bob@example.com")
    await guest.open(token)
    await page.get_by_role("textbox", name="Password", exact=True).fill("a wrong one")
    await page.get_by_role("button", name="Log in and join").click()
    await guest.told("The e-mail or the password is wrong.")
    await page.get_by_role("textbox", name="Password", exact=True).fill("correct horse battery")
    await page.get_by_role("button", name="Log in and join").click()
    await guest.told("You have joined")
    assert "bob@example.com" in await guest.invited.members()
    assert living_sessions_of(guest, "bob@example.com") == before


async def test_an_invitation_is_declined_on_the_page(guest: Guest) -> None:
    _, token = await guest.invited.invited("cleo@example.com")
    await guest.open(token)
    await guest.page.get_by_role("button", name="Decline the invitation").click()
    await guest.told("declined")
    await guest.open("")
    await expect(guest.page.get_by_text("Open the link of the mail")).to_be_visible()


@pytest.mark.promise("identity, accounts and mail: a code to type, for links that arrive cut")
async def test_an_invitation_is_opened_by_the_code_of_the_mail(guest: Guest) -> None:
    page = guest.page
    _, token = await guest.invited.invited("emil@example.com")
    await page.goto("about:blank")
    await page.goto(f"{HOME}/account/invitation")
    await page.get_by_label("Code from the mail").fill("0000-0000-0000-0000")
    await page.get_by_role("button", name="Continue").click()
    await guest.told("This invitation is wrong")
    await page.get_by_label("Code from the mail").fill(token.lower())
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_role("button", name="Decline the invitation").click()
    await guest.told("declined")


async def test_an_invitation_read_before_the_browser_event_stays_read(guest: Guest) -> None:
    _, token = await guest.invited.invited("dora@example.com")
    await guest.open("")
    await read_before_told(guest.page, {"token": token})
    await guest.page.get_by_role("button", name="Decline the invitation").click()
    await guest.told("declined")


@pytest.mark.promise(
    "tenants, acceptance: the page of the service joins by mouse and keyboard, and says what it is to those who listen"
)
async def test_the_invitation_page_is_described_for_screen_readers(guest: Guest) -> None:
    page = guest.page
    _, token = await guest.invited.invited("dora@example.com")
    await guest.open(token)
    await expect(page.get_by_label("Full name")).to_be_visible()
    assert await page.get_attribute("html", "lang") == "en"
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await expect(page.get_by_role("main")).to_be_visible()
    unnamed = "() => [...document.querySelectorAll('input')].filter(input => !input.labels.length).length"
    assert await page.evaluate(unnamed) == 0
    await page.keyboard.press("Tab")
    focused = "() => getComputedStyle(document.activeElement).outlineStyle"
    assert await page.evaluate(focused) == "solid"
    await page.get_by_role("button", name="Decline the invitation").focus()
    assert await page.evaluate(focused) in ("solid", "auto")


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


async def test_a_wrong_password_is_reported_in_a_sentence(visit: Visit) -> None:
    await log_in(visit.page, "ein falsches Paßwort 🔑")
    await expect(visit.page.get_by_role("status")).to_have_text("The e-mail or the password is wrong.")


async def test_the_page_shows_the_ten_lines_of_code_that_it_runs(visit: Visit) -> None:
    code = (ASSETS / "encrypted-passwords.js").read_text()
    assert escape(code) in escape(await visit.page.get_by_label("The code").text_content() or "")
    body = code[code.index("{\n") : code.rindex("}")].strip().splitlines()
    assert len(body) - 1 == 10
    await expect(visit.page.get_by_role("heading", level=1)).to_have_text("Encrypted passwords")
    assert await visit.page.get_attribute("html", "lang") == "en"
