"""An office that closes with the test."""

from collections.abc import AsyncIterator

import pytest_asyncio
from playwright.async_api import Browser

from tests.console.conftest import WIDE, Service, Visitor, free_port, serving
from tests.console.rows.live.office import BOSS, CLERK, Customer, Office, Order
from tests.http.app import ADMIN, open_test_app


@pytest_asyncio.fixture
async def office(chromium: Browser) -> AsyncIterator[Office]:
    app = await open_test_app({"TENANTRY_PASSKEY_RP_ID": "localhost"}, (Customer, Order), counts_limits=False)
    await app.login("root", ADMIN)
    await app.make_tenant("acme")
    await app.make_user("acme", BOSS, ["Admin"])
    await app.make_user("acme", CLERK, ["Admin"])
    await app.login("acme", CLERK)
    home = f"http://localhost:{free_port()}"
    contexts = [await chromium.new_context(viewport=WIDE, locale="en-GB") for _ in range(2)]
    async with serving(app, home):
        visitors = []
        for context in contexts:
            context.set_default_timeout(60_000)
            visitors.append(Visitor(Service(app, home), context, await context.new_page()))
            visitors[-1].watch(visitors[-1].page)
        opened = Office(visitors[0], visitors[1], app)
        for number in range(5):
            await opened.add(f"A-{number}")
        yield opened
        for context in contexts:
            await context.close()
    await app.client.aclose()
    assert [visitor.complaints for visitor in visitors] == [[], []]
