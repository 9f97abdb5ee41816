"""The plugin in an application that exists: its own handlers, errors and document stay as they were.

Applications of docs/plugin.md and docs/testing.md: the files are taken from them as they stand, and run.
"""

import importlib
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pytest
from litestar import Litestar, WebSocket, asgi, get, post, websocket
from litestar.config.cors import CORSConfig
from litestar.datastructures import CacheControlHeader, State
from litestar.di import NamedDependency, Provide
from litestar.handlers import ASGIRouteHandler
from litestar.params import JSONBody, QueryParameter
from litestar.types import Receive, Scope, Send
from msgspec import Struct

from adapters.http.app import HttpSettings, build_app, build_pipeline
from adapters.http.handler_rules import NoPolicy
from adapters.http.operations.access_log import log_nothing
from adapters.http.plugin import HttpPlugin
from adapters.http.request.rules import ANY_TOKEN, ORDINARY, PUBLIC, needs, requires, rules
from domain.limits import Limit
from domain.scope import Caller
from entrypoints.settings.settings import SettingsError, read_settings
from entrypoints.testing.app import MemoryApp, client_of, open_app
from tenantry import TenantryPlugin
from tenantry.catalogue import ENTITIES
from tests.documentation.documents import copied
from tests.http.app import TestApp, hosting, theirs
from tests.http.built_once import called_for, on_stand_ins


class Discount(Struct, forbid_unknown_fields=True):
    percent: int
    reason: str


@post("/api/products/discount", status_code=200, opt=rules(policy=needs("update:products"), limit=Limit("discount", 2)))
async def discount(data: JSONBody[Discount], caller: NamedDependency[Caller]) -> dict[str, Any]:
    return {"percent": data.percent, "by": caller.email}


@get("/reports/stock", opt=rules(policy=ANY_TOKEN, limit=Limit("stock", 100), area="A"), guards=[requires("no:such")])
async def stock(top: Annotated[int, QueryParameter(ge=1)] = 10) -> dict[str, int]:
    return {"top": top}


async def test_the_application_stays_as_it_was(app: TestApp) -> None:
    async with client_of(hosting(app)) as client:
        assert (await client.get("/theirs")).json() == {"whose": "theirs"}
        for path, detail in (("/theirs/missing", "theirs alone"), ("/nowhere", "Not Found")):
            answer = await client.get(path)
            assert answer.json() == {"status_code": 404, "detail": detail}
            assert "x-request-id" not in answer.headers
        ours = await client.get("/api/products/x/y/z")
        assert (ours.status_code, ours.json()["error"]["code"]) == (404, "NOT_FOUND")
        described = (await client.get("/schema/openapi.json")).json()
    assert {"/theirs", "/api/auth/login", "/api/products/{id}"} <= described["paths"].keys()
    assert "pattern" in described["components"]["schemas"]["ProductCreate"]["properties"]["sku"]


async def test_own_handlers_get_limits_errors_and_dependencies(app: TestApp) -> None:
    token = {"Authorization": f"Bearer {app.tokens['acme']}"}
    async with client_of(hosting(app, discount, stock)) as client:
        path = "/api/products/discount"
        good = await client.post(path, json={"percent": 5, "reason": "sale"}, headers=token)
        assert (good.status_code, good.json()["by"]) == (200, "admin@acme.example")
        assert good.headers["x-ratelimit-remaining"] == "1"
        wrong = await client.post(path, json={"percent": "x", "why": 1}, headers=token)
        fields = {field["field"] for field in wrong.json()["error"]["details"]}
        assert (wrong.status_code, fields) == (400, {"percent", "reason", "why"})
        assert (await client.post(path, json={}, headers=token)).status_code == 429
        assert (await client.post(path, json={})).status_code == 401
        reader = {"Authorization": f"Bearer {app.tokens['reader']}"}
        assert (await client.get("/reports/stock", headers=reader)).status_code == 403
        misspelt = await client.get("/reports/stock?tpo=1", headers=token)
        assert (misspelt.status_code, misspelt.json()["errors"][0]["field"]) == (400, "tpo")


async def test_cors_is_litestars(app: TestApp) -> None:
    asked = {"Origin": "https://a.example", "Access-Control-Request-Method": "GET"}
    settings = HttpSettings(cors=CORSConfig(allow_origins=["https://a.example"]))
    async with client_of(build_app(app.services, settings)) as client:
        preflight = await client.options("/api/products", headers=asked)
        answer = await client.get("/health/live", headers={"Origin": "https://a.example"})
    assert preflight.headers["access-control-allow-origin"] == "https://a.example"
    assert answer.headers["access-control-allow-origin"] == "https://a.example"


def test_a_handler_without_a_policy_does_not_start(app: TestApp) -> None:
    @get("/open")
    async def unguarded() -> None: ...

    with pytest.raises(NoPolicy, match="unguarded"):
        hosting(app, unguarded)


@websocket("/theirs/socket")
async def their_socket(socket: WebSocket[Any, Any, Any]) -> None: ...


@websocket("/own/socket", opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def own_socket(socket: WebSocket[Any, Any, Any]) -> None: ...


def test_sockets_are_the_applications_own_and_never_routes_of_the_plugin(app: TestApp) -> None:
    services = on_stand_ins(app.services)
    pipeline = build_pipeline(services, HttpSettings(), log_nothing)
    hosts = Litestar([their_socket], plugins=[HttpPlugin(services, pipeline)], logging_config=None)
    assert "/theirs/socket" in {route.path for route in hosts.routes}
    with pytest.raises(NoPolicy, match="own_socket is a WebSocket or ASGI handler"):
        Litestar(plugins=[HttpPlugin(services, pipeline, [own_socket])], logging_config=None)


@get("/own/open", cache_control=CacheControlHeader(public=True), opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def open_to_all() -> str:
    return "rows of a tenant"


@get("/own/minute", cache_control=CacheControlHeader(max_age=60), opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def for_a_minute() -> str:
    return "rows of a tenant"


@get("/own/news", opt=rules(policy=PUBLIC, limit=ORDINARY))
async def news() -> str:
    return "news"


async def test_a_shared_cache_must_not_store_answers_that_need_a_token(app: TestApp) -> None:
    """Whatever the application says of all its handlers."""
    pipeline = build_pipeline(app.services, HttpSettings(), log_nothing)
    plugin = HttpPlugin(app.services, pipeline, [open_to_all, for_a_minute, news])
    everywhere = CacheControlHeader(public=True, max_age=600)
    host = Litestar(plugins=[plugin], cache_control=everywhere, logging_config=None)
    token = {"Authorization": f"Bearer {app.tokens['acme']}"}
    expected = {
        "/own/news": "max-age=600, public",
        "/own/minute": "max-age=60",
        "/own/open": "no-store",
        "/api/products": "no-store",
        "/api/products/17": "no-store",
    }
    async with client_of(host) as client:
        answers = {path: await client.get(path, headers=token) for path in expected}
    assert {path: answer.headers.get_list("cache-control") for path, answer in answers.items()} == {
        path: [said] for path, said in expected.items()
    }


async def kept(state: State) -> list[str]:
    return list(state)


async def kept_too(kept: NamedDependency[list[str]]) -> int:
    return len(kept)


GIVEN = {"kept": Provide(kept, use_cache=True), "kept_too": Provide(kept_too, use_cache=True)}


@get("/own/kept", dependencies=GIVEN, opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def with_kept(kept_too: NamedDependency[int]) -> int:
    return kept_too


async def test_a_dependency_made_from_the_application_state_can_be_used(app: TestApp) -> None:
    async with client_of(hosting(app, with_kept)) as client:
        answer = await client.get("/own/kept", headers={"Authorization": f"Bearer {app.tokens['acme']}"})
    assert answer.status_code == 200


async def test_an_application_under_a_path_answers_unmatched_paths_as_before(app: TestApp) -> None:
    hosted = on_stand_ins(app.services)
    settings = HttpSettings(log=log_nothing)
    plugin = HttpPlugin(hosted, build_pipeline(hosted, settings, log_nothing))
    below = Litestar([theirs], path="/shop", plugins=[plugin], openapi_config=None)
    inner = HttpPlugin(hosted, build_pipeline(hosted, settings, log_nothing))
    mounted = Litestar([mount_of(Litestar([theirs], plugins=[inner], openapi_config=None))], openapi_config=None)
    for hosting_app in (below, mounted):
        async with client_of(called_for(app.services, hosting_app)) as client:
            assert (await client.get("/shop/theirs")).json() == {"whose": "theirs"}
            unknown = await client.get("/shop/api/products/one/more")
            wrong_method = await client.put("/shop/api/products")
            stranger = await client.get("/shop/api/strangers")
        assert unknown.json()["error"]["code"] == "NOT_FOUND"
        assert unknown.headers["X-Request-Id"]
        assert wrong_method.json()["error"]["code"] == "METHOD_NOT_ALLOWED"
        assert stranger.json() == {"status_code": 404, "detail": "Not Found"}


def mount_of(inner: Litestar) -> ASGIRouteHandler:
    @asgi("/shop", is_mount=True, copy_scope=True)
    async def mounted(scope: Scope, receive: Receive, send: Send) -> None:
        await inner(scope, receive, send)

    return mounted


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


async def test_an_application_can_combine_the_plugin_with_prometheus(shop: ModuleType) -> None:
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


def test_the_plugin_reads_its_settings_from_the_environment(shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
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
