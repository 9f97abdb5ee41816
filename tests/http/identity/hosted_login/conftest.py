from collections.abc import AsyncIterator

import pytest_asyncio

from tests.http.app import TestApp, open_test_app
from tests.http.conftest import seed
from tests.http.identity.hosted_login.handing_over import Shop


@pytest_asyncio.fixture
async def shop(app: TestApp) -> Shop:
    return await Shop(app).register()


@pytest_asyncio.fixture
async def unlimited() -> AsyncIterator[Shop]:
    """The shop of a service that counts requests and refuses none: for tests that log in often."""
    app = await open_test_app({"TENANTRY_RATE_LIMITS": "count"})
    await seed(app)
    yield await Shop(app).register()
    await app.client.aclose()
