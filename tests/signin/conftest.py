"""One service in memory behind a socket, an application that people come from, and one Chromium."""

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from granian.constants import Interfaces
from granian.server.embed import Server
from playwright.async_api import Browser, Route, async_playwright

from adapters import console
from adapters.http.app import HttpSettings, build_app
from adapters.http.console.pages import Console
from tests.console.conftest import WIDE, Service, Visitor, _listening
from tests.http.app import open_test_app
from tests.http.conftest import seed
from tests.http.docs.test_docs_page import BROWSER, FLAGS
from tests.http.identity.hosted_login.handing_over import SETTINGS, Shop

SHOP = "http://localhost:3999"
"""Where the application would be; the browser's requests to it are answered by the test."""

PROVIDER = "https://google.example"

INTERNAL = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@pytest_asyncio.fixture(scope="session")
async def service() -> AsyncIterator[Service]:
    port = free_port()
    home = f"http://localhost:{port}"
    environment = {**SETTINGS, "TENANTRY_BASE_URL": home}
    app = await open_test_app(environment)
    await seed(app)
    await Shop(app).register(redirectUrls=[f"{SHOP}/in", f"{SHOP}/in?from=mail"])
    target = build_app(app.services, HttpSettings(console=Console(files=console.files(), base_url=home)))
    server = Server(target, port=port, interface=Interfaces.ASGI, log_enabled=False)
    running = asyncio.create_task(server.serve())
    await _listening(port)
    yield Service(app, home)
    server.stop()  # type: ignore[no-untyped-call]
    await running
    await app.client.aclose()


@pytest_asyncio.fixture(scope="session")
async def chromium() -> AsyncIterator[Browser]:
    if BROWSER is None:
        pytest.skip("no Chromium on this machine: the pages are not driven")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=BROWSER, headless=True, args=FLAGS)
        yield browser
        await browser.close()


@pytest_asyncio.fixture
async def visitor(service: Service, chromium: Browser) -> AsyncIterator[Visitor]:
    """Somebody who has a device with an authenticator, and comes from the shop."""
    await service.renew_tokens()
    context = await chromium.new_context(viewport=WIDE, locale="en-GB")
    context.set_default_timeout(60_000)

    async def shop(route: Route) -> None:
        await route.fulfill(status=200, content_type="text/html", body="<h1>The shop</h1>")

    await context.route(f"{SHOP}/**", shop)
    page = await context.new_page()
    made = Visitor(service, context, page)
    made.watch(page)
    session = await context.new_cdp_session(page)
    await session.send("WebAuthn.enable")
    await session.send("WebAuthn.addVirtualAuthenticator", {"options": INTERNAL})
    yield made
    await context.close()
    assert made.complaints == []
    known = (made.home, SHOP, PROVIDER, "data:")
    assert [request.url for request in made.requests if not request.url.startswith(known)] == []
