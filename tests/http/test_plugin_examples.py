"""Applications of docs/plugin.md and docs/testing.md: the files are taken from them as they stand, and run."""

import importlib
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from litestar import Litestar

from entrypoints.settings.settings import SettingsError, read_settings
from entrypoints.testing.app import MemoryApp, open_app
from tenantry import TenantryPlugin
from tenantry.catalogue import ENTITIES
from tests.documents import copied

TESTS = (
    "test_a_product_is_retired_by_those_who_may_update_it",
    "test_another_tenant_does_not_see_the_product",
    "test_a_token_ends",
    "test_a_mail_is_sent",
)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    # By its path: files of other pages and tests have its name, and one that was loaded would be found for it.
    spec = spec_from_file_location("shop", copied("plugin.md", "shop.py", tmp_path))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "shop", module)
    spec.loader.exec_module(module)
    return module


async def test_an_application_with_the_plugin_and_prometheus_beside_it(shop: ModuleType) -> None:
    async with open_app(entities=ENTITIES, routes=[shop.bargains], application=shop.create_app) as app:
        acme = await app.create_tenant("acme")
        for number in range(4):
            await create_product(app, acme, f"P-{number}", 20 - number)
        assert (await app.client.get("/")).text == "Welcome to the shop."
        assert (await app.client.get("/api/bargains", headers=acme)).json() == ["P-3", "P-2", "P-1"]
        assert (await app.client.get("/api/bargains")).json()["error"]["code"] == "UNAUTHORIZED"
        assert (await app.client.get("/api/bargain")).json() == {"status_code": 404, "detail": "Not Found"}
        origin = {"Origin": "https://shop.example"}
        assert (await app.client.get("/api/products", headers={**acme, **origin})).headers[
            "access-control-allow-origin"
        ] == "https://shop.example"
        counted = (await app.client.get("/metrics")).text
        assert 'path="/api/bargains",status_code="200"' in counted
        assert 'path="/api/bargains",status_code="401"' in counted
        document = (await app.client.get("/schema/openapi.json")).json()["paths"]
        assert {"/", "/api/bargains", "/api/products/{id}", "/api/auth/login"} <= document.keys()
        assert (await app.client.get("/account/confirm")).status_code == 200


async def create_product(app: MemoryApp, headers: dict[str, str], sku: str, price: int) -> None:
    body = {"name": sku, "sku": sku, "price": price}
    assert (await app.client.post("/api/products", json=body, headers=headers)).status_code == 201


def test_the_plugin_takes_its_settings_from_the_environment(shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="must be set: `tenantry serve` alone starts servers"):
        TenantryPlugin(read_settings({}))
    monkeypatch.setenv("TENANTRY_SECRET_KEY", "a secret key for tests, long enough")
    monkeypatch.setenv("TENANTRY_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing")
    monkeypatch.setenv("TENANTRY_REDIS_URL", "redis://127.0.0.1:1")
    application = shop.app()
    assert isinstance(application, Litestar)
    paths = {route.path for route in application.routes}
    assert {"/api/bargains", "/api/products", "/api/auth/login"} <= paths
    assert "/health/live" not in paths


async def test_what_docs_testing_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied("endpoints.md", "retiring.py", tmp_path)
    copied("testing.md", "test_retiring.py", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    module: Any = importlib.import_module("test_retiring")
    assert tuple(name for name in vars(module) if name.startswith("test_")) == TESTS
    for name in TESTS:
        await getattr(module, name)()
