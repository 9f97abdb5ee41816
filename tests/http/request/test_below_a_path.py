"""The service behind a proxy that takes a path off: what it tells clients to ask lies below that path."""

from datetime import timedelta

import pytest

from adapters.http.console.pages import Console
from tests.http.app import ADMIN, TestApp, open_test_app

PUBLIC = "https://id.example/tools/tenantry"


@pytest.fixture
async def app() -> TestApp:
    opened = await open_test_app(console=Console(base_url=PUBLIC, remembered=timedelta(days=7)))
    await opened.login("root", ADMIN)
    return opened


async def test_what_was_made_is_found_at_its_location(app: TestApp) -> None:
    category = await app.call("POST", "/api/categories", as_whom="root", json={"name": "Lamps"})
    tenant = await app.call("POST", "/api/tenants", as_whom="root", json={"name": "Acme", "identifier": "acme"})
    assert category.headers["Location"] == f"/tools/tenantry/api/categories/{category.json()['data']['id']}"
    assert tenant.headers["Location"] == f"/tools/tenantry/api/tenants/{tenant.json()['data']['id']}"


async def test_the_document_names_the_path_and_the_page_is_found_below_it(app: TestApp) -> None:
    document = (await app.call("GET", "/docs/v1/docs.json")).json()
    assert document["servers"] == [{"url": "/tools/tenantry"}]
    assert (await app.call("GET", "/docs")).headers["Location"] == "/tools/tenantry/docs/index.html"
