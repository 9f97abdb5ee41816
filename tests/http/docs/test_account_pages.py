"""The pages that links in mails lead to, in a real browser that can reach nothing but the application itself."""

import gzip
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from adapters.http.account.localized import BUILT
from adapters.http.docs.pages import About
from adapters.memory.mail import MemoryMailer
from tests.builders import link_in, said_by
from tests.http.app import Json, TestApp, open_test_app
from tests.http.docs.test_docs_page import BROWSER, HOME, Visit

ADA = {"email": "ada@example.com", "password": "a first password", "fullName": "Ada Byron"}
NEW = "a second password"

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
in_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine: the pages are not driven")


@pytest.mark.parametrize("path", sorted(BUILT.glob("*.html")), ids=lambda path: path.name)
def test_a_page_contains_no_form_before_its_script_runs(path: Path) -> None:
    """A browser that sends a form by itself puts what was typed into the address: scripts make the forms."""
    markup = path.read_text()
    assert [tag for tag in ("<form", "<input", "<button") if tag in markup] == []
    assert ("<noscript>" in markup) is (path.name != "refused.html")


async def told(page: Page, text: str) -> None:
    """A message for those who look and for those who listen, wherever they were."""
    message = page.get_by_role("status").or_(page.get_by_role("alert"))
    await expect(message).to_contain_text(text)
    await expect(message).to_be_focused()


async def read_before_told(page: Page, said: dict[str, str]) -> None:
    """A new address whose link is read, and taken out of it, before the browser tells that there is another one.

    On a busy machine it is, where the script of the page begins just then.
    """
    await page.evaluate(
        """async said => {
          const told = new Promise(done => addEventListener("hashchange", event => event.isTrusted && done()))
          location.hash = new URLSearchParams(said)
          dispatchEvent(new HashChangeEvent("hashchange"))
          await told
        }""",
        said,
    )


@dataclass
class Reader:
    """Somebody who opens links from their mails."""

    page: Page
    app: TestApp
    visit: Visit

    async def link(self) -> str:
        mailer = self.app.adapters.mailer
        assert isinstance(mailer, MemoryMailer)
        await self.app.services.relay.deliver()
        return link_in(mailer.sent[-1]).replace("http://127.0.0.1:8000", HOME)

    async def open(self, link: str) -> None:
        await self.page.goto("about:blank")
        await self.page.goto(link)

    async def post(self, name: str, body: Json) -> int:
        return (await self.app.call("POST", f"/api/auth/{name}", json=body)).status_code

    async def login(self, password: str) -> int:
        return await self.post("login", {"email": ADA["email"], "password": password, "isPasswordEncrypted": False})

    async def told(self, text: str) -> None:
        await told(self.page, text)


@pytest_asyncio.fixture
async def reader(app: TestApp, chromium: Browser) -> AsyncIterator[Reader]:
    """Who has registered, and not confirmed yet."""
    context = await chromium.new_context()
    page = await context.new_page()
    visit = Visit(page, app)
    page.on("pageerror", lambda error: visit.complaints.append(str(error)))
    page.on("console", lambda said: visit.complaints.append(said.text) if "Security" in said.text else None)
    await context.route("**/*", visit.answer)
    made = Reader(page, app, visit)
    assert await made.post("register", ADA) == 201
    yield made
    assert (visit.strangers, visit.complaints) == ([], [])
    await context.close()


@pytest.mark.promise("identity, accounts and mail: links are made from the settings; opening one does not use it up")
@in_browser
async def test_an_address_is_confirmed_by_a_click_and_not_by_opening(reader: Reader) -> None:
    link = await reader.link()
    await reader.open(link)
    await expect(reader.page.get_by_text(ADA["email"])).to_be_visible()
    assert reader.page.url == f"{HOME}/account/confirm"
    assert await reader.login(ADA["password"]) == 401
    await reader.page.keyboard.press("Tab")
    await reader.page.keyboard.press("Enter")
    await reader.told("Your address is confirmed")
    assert await reader.login(ADA["password"]) == 200
    await reader.open(link)
    await reader.page.get_by_role("button", name="Confirm").click()
    await reader.told("wrong, was used, or has expired")


@in_browser
async def test_a_user_who_did_not_create_the_account_is_led_to_a_new_password(reader: Reader) -> None:
    await reader.open(await reader.link())
    await expect(
        reader.page.get_by_text("do not confirm it: the person who created it knows its password")
    ).to_be_visible()
    await reader.page.get_by_role("link", name="Set a password of your own instead").click()
    await reader.page.get_by_label("E-mail").fill(ADA["email"])
    await reader.page.get_by_role("button", name="Send me a mail").click()
    await reader.told("a mail is on its way")
    body = {**said_by(await reader.link()), "newPassword": NEW, "isPasswordEncrypted": False}
    assert await reader.post("reset-password", body) == 200
    assert [await reader.login(password) for password in (ADA["password"], NEW)] == [401, 200]


@pytest.mark.promise("identity, accounts and mail: the service's own pages")
@in_browser
async def test_a_password_is_set(reader: Reader) -> None:
    assert await reader.post("request-password-reset", {"email": ADA["email"]}) == 200
    await reader.open(await reader.link())
    page = reader.page
    await expect(page.get_by_label("E-mail")).to_have_value(ADA["email"])
    submit = page.get_by_role("button", name="Set the password")
    await page.get_by_label("New password").fill(NEW)
    await page.get_by_label("The same again").fill("another one")
    await submit.click()
    await reader.told("not the same")
    for label in ("New password", "The same again"):
        await page.get_by_label(label).fill("password123")
    await submit.click()
    await reader.told("The password is among the most common passwords")
    for label in ("New password", "The same again"):
        await page.get_by_label(label).fill(NEW)
    await submit.click()
    await reader.told("Your password is set")
    assert await reader.login(NEW) == 200
    await expect(submit).to_be_hidden()


@in_browser
async def test_without_a_link_or_with_a_dead_one_a_new_mail_is_asked_for(reader: Reader) -> None:
    page = reader.page
    await reader.open(f"{HOME}/account/reset")
    await expect(page.get_by_label("New password")).to_be_hidden()
    await page.get_by_label("E-mail").fill(ADA["email"])
    await page.get_by_role("button", name="Send me a mail").click()
    await reader.told("a mail is on its way")
    dead = await reader.link()
    assert await reader.post("reset-password", {**said_by(dead), "newPassword": ADA["password"]}) == 200
    await reader.open(dead)
    for label in ("New password", "The same again"):
        await page.get_by_label(label).fill(NEW)
    await page.get_by_role("button", name="Set the password").click()
    await reader.told("wrong, was used, or has expired")
    await expect(page.get_by_label("E-mail")).to_have_value(ADA["email"])
    await expect(page.get_by_role("button", name="Send me a mail")).to_be_visible()


@pytest.mark.promise("identity, accounts and mail: a code to type, for links that arrive cut")
@in_browser
async def test_a_link_that_was_cut_is_replaced_by_the_code_of_the_mail(reader: Reader) -> None:
    page, link = reader.page, await reader.link()
    await reader.open(link.partition("#")[0])
    go_on = page.get_by_role("button", name="Continue")
    await go_on.click()
    await reader.told("wrong, was used, or has expired")
    await page.get_by_label("E-mail").fill(ADA["email"])
    await page.get_by_label("Code from the mail").fill("0000 0000 0000 0000")
    await go_on.click()
    await page.get_by_role("button", name="Confirm").click()
    await reader.told("wrong, was used, or has expired")
    await page.get_by_label("Code from the mail").fill(said_by(link)["token"].lower().replace("-", " "))
    await go_on.click()
    await page.get_by_role("button", name="Confirm").click()
    await reader.told("Your address is confirmed")
    assert await reader.login(ADA["password"]) == 200


@pytest.mark.promise("identity, accounts and mail: a code to type, for links that arrive cut")
@in_browser
async def test_a_password_is_set_with_the_code_of_the_mail(reader: Reader) -> None:
    page = reader.page
    await reader.open(f"{HOME}/account/reset")
    await page.get_by_label("E-mail").fill(ADA["email"])
    await page.get_by_role("button", name="Send me a mail").click()
    await reader.told("a mail is on its way")
    await page.get_by_role("button", name="Enter the code from the mail").click()
    await expect(page.get_by_label("E-mail")).to_have_value(ADA["email"])
    await page.get_by_label("Code from the mail").fill(said_by(await reader.link())["token"])
    await page.keyboard.press("Enter")
    for label in ("New password", "The same again"):
        await page.get_by_label(label).fill(NEW)
    await page.get_by_role("button", name="Set the password").click()
    await reader.told("Your password is set")
    assert await reader.login(NEW) == 200


@in_browser
async def test_a_link_entered_in_the_address_bar_of_an_open_page_is_read(reader: Reader) -> None:
    await reader.open(f"{HOME}/account/confirm")
    said = said_by(await reader.link())
    await reader.page.evaluate("said => { location.hash = new URLSearchParams(said) }", said)
    await reader.page.get_by_role("button", name="Confirm").click()
    await reader.told("Your address is confirmed")


@in_browser
async def test_a_link_read_before_the_browser_event_stays_read(reader: Reader) -> None:
    await reader.open(f"{HOME}/account/confirm")
    await read_before_told(reader.page, said_by(await reader.link()))
    await reader.page.get_by_role("button", name="Confirm").click()
    await reader.told("Your address is confirmed")


@in_browser
async def test_a_link_cannot_bring_markup_along(reader: Reader) -> None:
    await reader.open(f"{HOME}/account/confirm#email=<img src=x onerror=alert(1)>&token=x")
    await expect(reader.page.get_by_text("<img src=x onerror=alert(1)>")).to_be_visible()
    assert await reader.page.locator("img").count() == 0


@pytest.mark.promise("identity, accounts and mail: the service's own pages")
@in_browser
@pytest.mark.parametrize("path", ["confirm", "reset"])
async def test_the_account_pages_are_described_for_screen_readers(reader: Reader, path: str) -> None:
    await reader.open(f"{HOME}/account/{path}#email=ada%40example.com&token=x")
    page = reader.page
    assert await page.get_attribute("html", "lang") == "en"
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await expect(page.get_by_role("main")).to_be_visible()
    unnamed = "() => [...document.querySelectorAll('input')].filter(one => !one.labels.length).length"
    assert await page.evaluate(unnamed) == 0
    await page.keyboard.press("Tab")
    focused = "() => getComputedStyle(document.activeElement).outlineStyle"
    assert await page.evaluate(focused) == "solid"


PAGES = ["confirm", "reset", "invitation", "login", "register", "security", "login?app=unknown"]


@pytest.mark.promise("sign-in pages, attacks: Framing by a page of another origin")
@pytest.mark.parametrize("path", [f"/account/{page}" for page in PAGES])
async def test_account_pages_allow_no_inline_code_and_send_no_referrer(app: TestApp, path: str) -> None:
    answer = await app.call("GET", path)
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "style=" not in answer.text
    assert "onclick" not in answer.text
    assert "<script>" not in answer.text


async def test_only_the_assets_of_the_account_pages_are_served(app: TestApp) -> None:
    page = (await app.call("GET", "/account/login")).text
    named = re.findall(r'(?:src|href)="../account/assets/([^"]+)"', page)
    assert sorted(name.rpartition(".")[2] for name in named) == ["css", "js", "js"]
    for name in named:
        answer = await app.call("GET", f"/account/assets/{name}", headers={"Accept-Encoding": "br, gzip"})
        assert (answer.status_code, answer.headers["Content-Encoding"]) == (200, "gzip")
        assert "immutable" in answer.headers["Cache-Control"]
        assert (await app.call("GET", f"/account/assets/{name}", headers={"Accept-Encoding": ""})).status_code == 200
    for name in ("en.html", "SHA256SUMS", "docs.js", "..%2Faccounts.py", f"{named[0]}.gz"):
        assert (await app.call("GET", f"/account/assets/{name}")).status_code == 404


def test_all_files_of_the_pages_together_stay_small() -> None:
    """Every page in every language, its scripts and its style, as a browser is sent them."""
    packed = {path.name: path.read_bytes() for path in BUILT.glob("*.gz")}
    markup = {path.name: gzip.compress(path.read_bytes()) for path in BUILT.glob("*.html")}
    assert sum(map(len, {**packed, **markup}.values())) <= 45_000


def test_every_file_of_the_pages_is_as_it_was_made() -> None:
    lines = [line.split("  ") for line in (BUILT / "SHA256SUMS").read_text().splitlines()]
    listed = {name: digest for digest, name in lines}
    there = {path.name: sha256(path.read_bytes()).hexdigest() for path in BUILT.iterdir() if path.name != "SHA256SUMS"}
    assert listed == there


async def test_the_services_name_is_text_in_them() -> None:
    named = await open_test_app(about=About(title="<b>Acme</b>"))
    text = (await named.call("GET", "/account/confirm")).text
    assert "Confirm your e-mail address: &lt;b&gt;Acme&lt;/b&gt;" in text
    assert "<b>" not in text
