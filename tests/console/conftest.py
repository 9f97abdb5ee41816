"""One service in memory behind a socket, and one Chromium, for all tests of the console."""

import asyncio
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
import pytest_asyncio
from granian.constants import Interfaces
from granian.server.embed import Server
from playwright.async_api import Browser, BrowserContext, Page, Request, ViewportSize, async_playwright, expect

from adapters import console
from adapters.http.app import HttpSettings, build_app
from adapters.http.console.pages import Console
from adapters.memory.clock import MovableClock
from tests.http.app import PASSWORD, TestApp, open_test_app
from tests.http.conftest import seed
from tests.http.docs.test_docs_page import BROWSER, FLAGS

WIDE, NARROW = ViewportSize(width=1440, height=900), ViewportSize(width=390, height=844)
HOSTILE = "<img src=x onerror=alert(1)>"
BOTH = "both@acme.example"  # of two tenants
REFERENCES = 30

expect.set_options(timeout=10_000)


@dataclass
class Service:
    """The seeded application, and the address where a browser finds it."""

    app: TestApp
    home: str

    def let_time_pass(self) -> None:
        """Beyond the windows of all limits: tests sign in more often than people do."""
        clock = self.app.adapters.clock
        assert isinstance(clock, MovableClock)
        clock.move(timedelta(seconds=61))


@pytest_asyncio.fixture(scope="session")
async def service() -> AsyncIterator[Service]:
    app = await open_test_app()
    await seed(app)
    await furnish(app)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = f"http://127.0.0.1:{port}"
    settings = HttpSettings(console=Console(files=console.files(), base_url=home))
    target = build_app(app.services, settings)
    server = Server(target, port=port, interface=Interfaces.ASGI, log_enabled=False)
    running = asyncio.create_task(server.serve())
    await _listening(port)
    yield Service(app, home)
    server.stop()  # type: ignore[no-untyped-call]
    await running
    await app.client.aclose()


async def _listening(port: int) -> None:
    async with asyncio.timeout(10):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.01)
            else:
                writer.close()
                return


async def furnish(app: TestApp) -> None:
    """Rows of ``acme``: 250 products in a hostile category, and enough categories for a search."""
    names = [HOSTILE, *(f"Category {number:02}" for number in range(REFERENCES))]
    made = [await app.call("POST", "/api/categories", as_whom="acme", json={"name": name}) for name in names]
    category = made[0].json()["data"]["id"]
    items = [
        {
            "name": f"Lamp {number:03}",
            "sku": f"LAMP-{number:03}",
            "price": f"{number}.50",
            "status": "live" if number % 2 else "draft",
            "categoryId": category,
        }
        for number in range(250)
    ]
    stored = await app.call("POST", "/api/products/batch", as_whom="acme", json={"items": items})
    assert stored.status_code == 200, stored.text
    await add_to_other(app, await app.make_user("acme", BOTH, ["Admin"]))


async def add_to_other(app: TestApp, user_id: str) -> None:
    other = (await app.call("GET", "/api/tenants/current", as_whom="other")).json()["data"]["id"]
    body = {"userId": user_id, "roles": ["Admin"]}
    added = await app.call("POST", f"/api/tenants/{other}/users", as_whom="root in other", json=body)
    assert added.status_code == 201, added.text


@pytest_asyncio.fixture(scope="session")
async def chromium() -> AsyncIterator[Browser]:
    if BROWSER is None:
        pytest.skip("no Chromium on this machine: the console is not driven")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=BROWSER, headless=True, args=FLAGS)
        yield browser
        await browser.close()


@dataclass
class Visitor:
    """Somebody before the console, and everything that their browser complained of."""

    service: Service
    context: BrowserContext
    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)

    @property
    def home(self) -> str:
        return self.service.home

    def watch(self, page: Page) -> None:
        page.on("console", lambda said: self.complaints.append(said.text) if "Security Policy" in said.text else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request))  # noqa: PLW0108  # no attribute fits on a builtin

    async def open(self, path: str = "") -> None:
        await self.page.goto(f"{self.home}/console/{path}")

    async def sign_in(self, email: str = "admin@acme.example", password: str = PASSWORD) -> None:
        self.service.let_time_pass()
        if "/console/" not in self.page.url:
            await self.open()
        await self.page.get_by_label("E-mail").fill(email)
        await self.page.get_by_label("Password").fill(password)
        await self.page.keyboard.press("Enter")

    async def enter(self, path: str = "", email: str = "admin@acme.example") -> None:
        """Opens an address, signs in there, and waits for the screen."""
        await self.open(path)
        await self.sign_in(email)
        await expect(self.page.locator("nav.side")).to_be_attached()

    async def said(self, text: str) -> None:
        await expect(self.page.locator(".toasts")).to_contain_text(text)


@pytest_asyncio.fixture
async def visitor(service: Service, chromium: Browser) -> AsyncIterator[Visitor]:
    context = await chromium.new_context(viewport=WIDE, locale="en-GB", accept_downloads=True)
    page = await context.new_page()
    made = Visitor(service, context, page)
    made.watch(page)
    yield made
    await context.close()
    assert made.complaints == []
    assert [request.url for request in made.requests if not request.url.startswith((made.home, "data:", "blob:"))] == []
