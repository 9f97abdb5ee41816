"""One service on PostgreSQL and Redis behind a socket, and one Chromium, for all tests of the console."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from granian.constants import Interfaces
from granian.server.embed import Server
from litestar.types import ASGIApp
from playwright.async_api import (
    Browser,
    BrowserContext,
    CDPSession,
    Page,
    Request,
    ViewportSize,
    async_playwright,
    expect,
)

from adapters import console
from adapters.http.app import HttpSettings, build_app
from adapters.http.console.pages import Console
from adapters.memory.clock import MovableClock
from tests.conftest import NewDatabase
from tests.console.on_servers import Stored, open_app_on_servers
from tests.http.app import ADMIN, PASSWORD, TestApp
from tests.http.conftest import seed
from tests.http.docs.test_docs_page import BROWSER, FLAGS
from tests.waiting import HUNG_AFTER

WIDE, NARROW = ViewportSize(width=1440, height=900), ViewportSize(width=390, height=844)
HOSTILE = "<img src=x onerror=alert(1)>"
BOTH = "both@acme.example"  # of two tenants
REFERENCES = 30
RENEWED_AFTER = timedelta(minutes=5)  # a test may let some minutes pass, and a token lives for fifteen

expect.set_options(timeout=60_000)  # a machine may be several times slower than another


@dataclass
class Service:
    """The seeded application, and the address where a browser finds it."""

    app: TestApp
    home: str
    stored: Stored | None = None
    renewed_at: datetime | None = None

    def let_time_pass(self) -> None:
        """Beyond the windows of all limits: tests sign in more often than people do."""
        clock = self.app.adapters.clock
        assert isinstance(clock, MovableClock)
        clock.move(timedelta(seconds=61))
        # in memory limits go by the clock of the tests
        if self.stored is not None:
            self.stored.forget()

    async def renew_tokens(self) -> None:
        """Keeps those signed in who act by the API: the tests before may have let more time pass than a token lives."""
        now = self.app.adapters.clock.now()
        if self.renewed_at is not None and now - self.renewed_at < RENEWED_AFTER:
            return
        self.let_time_pass()
        self.renewed_at = self.app.adapters.clock.now()
        await self.app.login("root", ADMIN)
        for identifier in ("acme", "other"):
            await self.app.login(identifier, f"admin@{identifier}.example")
            tenant = (await self.app.call("GET", "/api/tenants/current", as_whom=identifier)).json()["data"]["id"]
            root = await self.app.call("POST", "/api/auth/switch-tenant", as_whom="root", json={"tenantId": tenant})
            self.app.tokens[f"root in {identifier}"] = root.json()["data"]["token"]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@asynccontextmanager
async def open_service(database_url: str, redis_url: str) -> AsyncIterator[Service]:
    """The seeded and furnished application, behind a socket."""
    # browsers know no passkeys of a host that is an address
    home = f"http://localhost:{free_port()}"
    environment = {"TENANTRY_PASSKEY_RP_ID": "localhost", "TENANTRY_PASSKEY_ORIGINS": home}
    async with open_app_on_servers(database_url, redis_url, environment) as (app, stored):
        await seed(app)
        await furnish(app)
        await stored.keep(app)
        async with serving(app, home):
            yield Service(app, home, stored)


@pytest_asyncio.fixture(scope="session")
async def furnished(new_database: NewDatabase, redis_url: str) -> AsyncIterator[Service]:
    async with open_service(await new_database(), redis_url) as service:
        yield service


@pytest_asyncio.fixture
async def service(furnished: Service) -> Service:
    """As it was furnished: what the tests before have made, changed and deleted is put back."""
    assert furnished.stored is not None
    await furnished.stored.put_back(furnished.app)
    return furnished


@asynccontextmanager
async def serving(
    app: TestApp, base_url: str, behind: Callable[[ASGIApp], ASGIApp] = lambda app: app
) -> AsyncIterator[None]:
    """The application with its console, at the port of its public address; ``behind`` is a proxy before it."""
    target = build_app(app.services, HttpSettings(console=Console(files=console.files(), base_url=base_url)))
    port = urlsplit(base_url).port
    assert port is not None
    server = Server(behind(target), port=port, interface=Interfaces.ASGI, log_enabled=False)
    running = asyncio.create_task(server.serve())
    await _listening(port)
    yield
    server.stop()  # type: ignore[no-untyped-call]
    await running


async def _listening(port: int) -> None:
    async with asyncio.timeout(HUNG_AFTER):
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
    _chromium: CDPSession | None = None

    async def chromium(self) -> CDPSession:
        """Chromium's own protocol for the page: one session, since the end of any takes virtual authenticators away."""
        self._chromium = self._chromium or await self.context.new_cdp_session(self.page)
        return self._chromium

    @property
    def home(self) -> str:
        return self.service.home

    def watch(self, page: Page) -> None:
        page.on("console", lambda said: self.complaints.append(said.text) if "Security Policy" in said.text else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request))  # noqa: PLW0108  # no attribute fits on a builtin

    async def open(self, path: str = "") -> None:
        await self.page.goto(f"{self.home}/console/{path}")

    async def go(self, path: str) -> None:
        """Another screen in the page that is open, as by a link."""
        await self.page.evaluate(
            "path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')) }",
            f"/console/{path}",
        )

    async def sign_in(self, email: str = "admin@acme.example", password: str = PASSWORD) -> None:
        self.service.let_time_pass()
        if "/console/" not in self.page.url:
            await self.open()
        await self.page.get_by_label("E-mail").fill(email)
        await self.page.get_by_label("Password").fill(password)
        await self.page.keyboard.press("Enter")

    async def enter(self, path: str = "", email: str = "admin@acme.example") -> None:
        """Opens an address as somebody who is signed in already: nothing is typed, which journeys of the login do."""
        self.service.let_time_pass()
        body = {"with": "password", "email": email, "password": PASSWORD, "isPasswordEncrypted": False}
        headers = {"X-Console": "1", "Origin": self.home}
        answer = await self.context.request.post(f"{self.home}/console/session", data=body, headers=headers)
        assert answer.ok, await answer.text()
        # what the console looks at before it tries the cookie; any page of the origin can set it
        await self.page.goto(f"{self.home}/health/live")
        await self.page.evaluate("localStorage.setItem('tenantry.signed-in', 'yes')")
        await self.open(path)
        await expect(self.page.locator("nav.side")).to_be_attached()

    async def said(self, text: str) -> None:
        await expect(self.page.locator(".toasts")).to_contain_text(text)


@pytest_asyncio.fixture
async def visitor(service: Service, chromium: Browser) -> AsyncIterator[Visitor]:
    context = await chromium.new_context(viewport=WIDE, locale="en-GB", accept_downloads=True)
    context.set_default_timeout(60_000)
    page = await context.new_page()
    made = Visitor(service, context, page)
    made.watch(page)
    yield made
    await context.close()
    assert made.complaints == []
    assert [request.url for request in made.requests if not request.url.startswith((made.home, "data:", "blob:"))] == []
