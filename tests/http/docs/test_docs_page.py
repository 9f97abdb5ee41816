"""The documentation page in a real browser, which can reach nothing but the application itself."""

import json
import re
import shutil
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, Route, expect

from tests.http.app import ADMIN, PASSWORD, TestApp

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    # else a page that a test makes up may not show one of this machine, whatever that one says to it
    "--disable-features=LocalNetworkAccessChecks",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOME = "http://localhost"

expect.set_options(timeout=60_000)  # a page of many operations, on a machine that does other things
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine: the documentation page is not driven"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


class Visit:
    """A page whose every request is answered by the application, or noted as a stranger."""

    def __init__(self, page: Page, app: TestApp) -> None:
        self.page, self.app = page, app
        self.strangers: list[str] = []
        self.complaints: list[str] = []

    async def answer(self, route: Route) -> None:
        request = route.request
        if not request.url.startswith(f"{HOME}/"):
            self.strangers.append(request.url)
            await route.abort()
            return
        answer = await self.app.client.request(
            request.method, request.url, headers=await request.all_headers(), content=request.post_data_buffer
        )
        await route.fulfill(status=answer.status_code, headers=dict(answer.headers), body=answer.content)

    def operation(self, name: str) -> Locator:
        return self.page.locator(f"[id$='-{name}'].opblock")

    async def try_out(self, name: str, body: object = None) -> Locator:
        """Opens an operation, fills in the body, executes it; the live answer."""
        # of many operations the page shows those alone that fit into the window
        path = await self._path(name)
        await self.page.get_by_placeholder("Filter by tag or path").fill(path)
        await expect(self.page.locator(f".opblock-summary-path:not([data-path*='{path}'])")).to_have_count(0)
        block = self.operation(name)
        await block.locator(".opblock-summary-control").click()
        if body is not None:
            await block.locator("textarea.body-param__text").fill(json.dumps(body))
        await block.locator("button.execute").click()
        return block.locator(".live-responses-table .response").first

    async def _path(self, name: str) -> str:
        paths = (await self.app.client.get("/docs/v1/docs.json")).json()["paths"]
        (path,) = (path for path, item in paths.items() if name in [entry["operationId"] for entry in item.values()])
        return str(path)


@pytest_asyncio.fixture
async def visit(app: TestApp, chromium: Browser) -> AsyncIterator[Visit]:
    context = await chromium.new_context()
    page = await context.new_page()
    made = Visit(page, app)
    page.on("console", lambda said: made.complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: made.complaints.append(str(error)))
    await context.route("**/*", made.answer)
    await page.goto(f"{HOME}/docs/index.html")
    await expect(page.locator("#operations-tag-auth")).to_be_visible()
    yield made
    await context.close()


async def test_groups_are_closed_until_one_is_opened_or_a_filter_is_set(visit: Visit) -> None:
    page, shown = visit.page, visit.page.locator(".opblock")
    await expect(shown).to_have_count(0)
    assert await page.evaluate("document.documentElement.scrollHeight") < 2_000
    await page.locator("#operations-tag-products").click()
    await expect(visit.operation("productsCreate")).to_be_visible()
    await expect(visit.operation("authLogin")).to_have_count(0)
    await page.get_by_placeholder("Filter by tag or path").fill("/api/auth/login")
    await expect(visit.operation("authLogin")).to_be_visible()
    await page.get_by_placeholder("Filter by tag or path").fill("")
    await expect(shown).to_have_count(0)


async def test_one_logs_in_and_stores_a_product_there(visit: Visit) -> None:
    login = {"email": "admin@acme.example", "password": PASSWORD, "isPasswordEncrypted": False}
    answer = await visit.try_out("authLogin", login)
    await expect(answer.locator(".response-col_status")).to_contain_text("200")
    await expect(visit.page.get_by_role("status")).to_contain_text("token is kept")
    answer = await visit.try_out("productsCreate", {"name": "Lamp", "sku": "LAMP-1", "price": 19.99})
    await expect(answer.locator(".response-col_status")).to_contain_text("201")
    listed = await visit.app.call("GET", "/api/products", as_whom="acme")
    assert [item["sku"] for item in listed.json()["data"]["items"]] == ["LAMP-1"]
    assert (visit.strangers, visit.complaints) == ([], [])


async def test_the_example_bodies_only_wait_for_execute(visit: Visit) -> None:
    await visit.app.login("acme", "admin@acme.example")
    await visit.page.evaluate("token => ui.preauthorizeApiKey('bearer', token)", visit.app.tokens["acme"])
    answer = await visit.try_out("categoriesCreate")
    await expect(answer.locator(".response-col_status")).to_contain_text("201")


async def test_a_token_can_be_pasted_in(visit: Visit) -> None:
    await visit.app.login("root", ADMIN)
    await visit.page.get_by_role("button", name="Authorize").first.click()
    await visit.page.get_by_label("auth-bearer-value").fill(visit.app.tokens["root"])
    await visit.page.get_by_role("button", name="Apply credentials").click()
    await visit.page.get_by_role("button", name="Close").last.click()
    answer = await visit.try_out("tenantsPage")
    await expect(answer.locator(".response-col_status")).to_contain_text("200")


async def test_the_docs_page_is_described_for_screen_readers(visit: Visit) -> None:
    assert await visit.page.get_attribute("html", "lang") == "en"
    await expect(visit.page.get_by_role("heading", level=1)).to_contain_text("Tenantry")
    await expect(visit.page.get_by_role("main")).to_be_visible()
    await visit.page.keyboard.press("Tab")
    await expect(visit.page.get_by_role("link", name="Skip to the endpoints")).to_be_focused()


async def test_the_page_has_one_heading_and_says_how_to_log_in(visit: Visit) -> None:
    await expect(visit.page.get_by_role("heading", level=1)).to_have_count(1)
    await expect(visit.page.get_by_text("the page keeps the token until the tab is closed")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_it_is_as_dark_as_the_reader_likes_also_when_that_changes(visit: Visit, scheme: Any) -> None:
    await visit.page.emulate_media(color_scheme="light" if scheme == "dark" else "dark")
    await visit.page.emulate_media(color_scheme=scheme)
    for place in ("body", ".swagger-ui"):
        colour = await visit.page.locator(place).first.evaluate("it => getComputedStyle(it).backgroundColor")
        red, green, blue, *alpha = map(float, re.findall(r"[\d.]+", colour))
        if alpha != [0.0]:
            assert (red + green + blue < 200) is (scheme == "dark"), (place, colour)


async def test_on_a_telephone_nothing_is_wider_than_the_window(visit: Visit) -> None:
    await visit.page.set_viewport_size({"width": 390, "height": 800})
    login = {"email": "admin@acme.example", "password": PASSWORD}
    answer = await visit.try_out("authLogin", login)
    await expect(answer.locator(".response-col_status")).to_contain_text("200")
    await visit.try_out("productsPage")
    too_wide = "[...document.querySelectorAll('*')].filter(it => it.getBoundingClientRect().right > innerWidth + 1)"
    inside = "!it.closest('pre, .highlight-code, .microlight, .curl-command')"  # these scroll by themselves
    assert await visit.page.evaluate(f"{too_wide}.filter(it => {inside}).map(it => it.className)") == []
    assert await visit.page.evaluate("document.documentElement.scrollWidth") == 390


async def test_the_token_survives_a_reload_and_ends_with_the_tab(visit: Visit) -> None:
    await visit.try_out("authLogin", {"email": "admin@acme.example", "password": PASSWORD})
    await expect(visit.page.get_by_role("status")).to_contain_text("token is kept")
    await visit.page.reload()
    answer = await visit.try_out("authMe")
    await expect(answer.locator(".response-col_status")).to_contain_text("200")
    assert await visit.page.evaluate("localStorage.length") == 0
    await visit.page.get_by_role("button", name="Authorize").first.click()
    await visit.page.get_by_role("button", name="Remove authorization").click()
    assert await visit.page.evaluate("sessionStorage.length") == 0


async def test_messages_go_away(visit: Visit) -> None:
    await visit.page.evaluate("tell('Something was done.')")
    await expect(visit.page.locator("#told")).to_have_text("Something was done.")
    await expect(visit.page.locator("#told")).to_be_hidden()


async def test_the_parameters_of_a_list_are_grouped(visit: Visit) -> None:
    await visit.page.get_by_placeholder("Filter by tag or path").fill("/api/products")
    await visit.operation("productsPage").locator(".opblock-summary-control").click()
    rows = visit.operation("productsPage").locator(".parameters .group th")
    await expect(rows).to_have_text(["Page", "Search and order", "What rows show", "Filters", "Headers"])
    await visit.operation("productsRead").locator(".opblock-summary-control").click()
    await expect(visit.operation("productsRead").locator(".parameters .group th")).to_have_count(0)
