"""The plugin in an application that exists: its own handlers, errors and document stay as they were."""

from datetime import date
from typing import Annotated, Any, cast

import pytest
from litestar import Litestar, Request, WebSocket, asgi, get, post, websocket
from litestar.config.cors import CORSConfig
from litestar.datastructures import CacheControlHeader, State
from litestar.di import NamedDependency, Provide
from litestar.exceptions import HTTPException, NotFoundException
from litestar.handlers import ASGIRouteHandler
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from litestar.routes import HTTPRoute
from litestar.types import ASGIApp, Receive, Scope, Send
from msgspec import Struct

from adapters.http.app import HttpSettings, build_app, build_pipeline
from adapters.http.handler_rules import NoPolicy
from adapters.http.operations.access_log import log_nothing
from adapters.http.plugin import HttpPlugin
from adapters.http.request.rules import ANY_TOKEN, ORDINARY, PUBLIC, RULES, needs, requires, rules
from domain.limits import Limit
from domain.scope import Caller
from entrypoints.testing import client_of
from tests.http.app import TestApp
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


@get("/theirs")
async def theirs() -> dict[str, str]:
    return {"whose": "theirs"}


@get("/theirs/missing")
async def missing() -> None:
    raise NotFoundException(detail="theirs alone")


_HOSTING: dict[tuple[Any, ...], Litestar] = {}
"""Applications by their routes: tests with the same routes share one."""


def hosting(app: TestApp, *routes: Any) -> ASGIApp:
    if routes not in _HOSTING:
        services = on_stand_ins(app.services)
        _HOSTING[routes] = Litestar(
            [theirs, missing],
            plugins=[HttpPlugin(services, build_pipeline(services, HttpSettings(), log_nothing), routes)],
            cors_config=CORSConfig(allow_origins=["https://a.example"]),
            logging_config=None,
        )
    return called_for(app.services, _HOSTING[routes])


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


PLACES = [f"/own/{number}/{{shelf:str}}" for number in range(1, 9)]


@get(PLACES, opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def in_many_places(shelf: FromPath[str]) -> dict[str, str]:
    return {"shelf": shelf}


def test_a_handler_of_many_paths_has_the_same_limit_in_every_process(app: TestApp) -> None:
    """Each process has an order of its own for them, and a limit is counted by its name in all."""
    routes = build_app(app.services, HttpSettings(routes=(in_many_places,))).routes
    handlers = [
        handler for route in routes if route.path in PLACES for handler in cast(HTTPRoute, route).route_handlers
    ]
    named = {handler.opt[RULES].limit.name for handler in handlers if handler.http_methods == {"GET"}}
    assert named == {"GET /own/8/{shelf}"}


@get("/own/listed", name="listed", opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def listed(top: Annotated[int, QueryParameter(ge=1)] = 10) -> dict[str, int]:
    return {"top": top}


@get("/own/raw", opt=rules(policy=ANY_TOKEN, limit=ORDINARY, any_query=True))
async def with_raw_query(request: Request[Any, Any, Any]) -> dict[str, Any]:
    return dict(request.query_params)


async def paging(size: Annotated[int, QueryParameter(name="pageSize")] = 20) -> int:
    return size


@get("/own/needed", opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def needed(size: FromQuery[int]) -> int:
    return size


@get("/own/paged", dependencies={"paging": Provide(paging)}, opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def paged(paging: NamedDependency[int]) -> int:
    return paging


@get("/own/whole", dependencies={"paging": Provide(paging)}, opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def without_pages() -> int:
    return 1


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/own/listed?top=3", 200, {"top": 3}),
        ("/own/listed?tpo=3", 400, "tpo"),
        ("/own/listed", 200, {"top": 10}),
        ("/own/needed", 400, "size"),
        ("/own/listed?top=x", 400, "top"),
        ("/own/raw?a=1", 200, {"a": "1"}),
        ("/own/paged?pageSize=3", 200, 3),
        ("/own/paged?size=3", 400, "size"),
        ("/own/whole?pageSize=3", 400, "pageSize"),
    ],
)
async def test_own_handlers_refuse_query_parameters_that_nobody_declares(
    app: TestApp, path: str, status: int, said: object
) -> None:
    token = {"Authorization": f"Bearer {app.tokens['acme']}"}
    async with client_of(hosting(app, listed, with_raw_query, paged, without_pages, needed)) as client:
        answer = await client.get(path, headers=token)
    body = answer.json()
    told = body["error"]["details"][0]["field"] if answer.status_code == 400 else body
    assert (answer.status_code, told) == (status, said)


@get("/own/dates/{year:int}", opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def of_year(year: int, day: date, words: list[str] | None = None) -> list[Any]:
    return [year, day, words]


@get("/own/every", opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def with_every_parameter(query: dict[str, Any]) -> list[str]:
    return sorted(query)


@pytest.mark.filterwarnings("ignore::litestar.utils.deprecation.LitestarDeprecationWarning")
@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/own/dates/2026?day=2026-11-26&words=a&words=b", 200, [2026, "2026-11-26", ["a", "b"]]),
        ("/own/dates/2026?day=2026-11-26&year=2027", 400, "year"),
        ("/own/dates/2026?day=2026-11-26&word=a", 400, "word"),
        ("/own/every?a=1&b=2", 200, ["a", "b"]),
    ],
)
async def test_arguments_without_a_mark_are_query_parameters(
    app: TestApp, path: str, status: int, said: object
) -> None:
    """Litestar's older way, which it warns of and serves."""
    token = {"Authorization": f"Bearer {app.tokens['acme']}"}
    async with client_of(hosting(app, of_year, with_every_parameter)) as client:
        answer = await client.get(path, headers=token)
    body = answer.json()
    told = body["error"]["details"][0]["field"] if answer.status_code == 400 else body
    assert (answer.status_code, told) == (status, said)


def own_routes_of_one_name() -> list[Any]:
    """Handlers of two files, whose functions have the same name."""

    def made(path: str) -> Any:
        @get(path, opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
        async def page(request: Request[Any, Any, Any]) -> str:
            return request.url.path

        return page

    return [made("/own/first"), made("/own/second/{id:str}")]


async def test_the_ordinary_limit_counts_for_each_method_and_path(app: TestApp) -> None:
    token = {"Authorization": f"Bearer {app.tokens['acme']}"}
    async with client_of(hosting(app, *own_routes_of_one_name())) as client:
        left = [
            (await client.get(path, headers=token)).headers["x-ratelimit-remaining"]
            for path in ("/own/first", "/own/first", "/own/second/1", "/own/second/2")
        ]
    assert left == ["99", "98", "99", "98"]


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


@get("/own/raised/{status:int}", opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def raising(status: FromPath[int]) -> None:
    raise HTTPException(detail=f"said by the handler: {status}", status_code=status, headers={"Retry-After": "7"})


@pytest.mark.parametrize(
    ("raised", "status", "code"),
    [
        (401, 401, "UNAUTHORIZED"),
        (403, 403, "FORBIDDEN"),
        (409, 409, "CONFLICT"),
        (412, 412, "PRECONDITION_FAILED"),
        (415, 415, "UNSUPPORTED_MEDIA_TYPE"),
        (418, 400, "BAD_REQUEST"),
        (422, 422, "UNPROCESSABLE_ENTITY"),
        (429, 429, "RATE_LIMITED"),
    ],
)
async def test_exceptions_of_litestar_are_answered_by_their_status(
    app: TestApp, raised: int, status: int, code: str
) -> None:
    token = {"Authorization": f"Bearer {app.tokens['acme']}"}
    async with client_of(hosting(app, raising)) as client:
        answer = await client.get(f"/own/raised/{raised}", headers=token)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["message"]) == (status, code, f"said by the handler: {raised}")
    assert answer.headers.get("retry-after") == ("7" if raised == 429 else None)


@get("/own/open", cache_control=CacheControlHeader(public=True), opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def open_to_all() -> str:
    return "rows of a tenant"


@get("/own/minute", cache_control=CacheControlHeader(max_age=60), opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def for_a_minute() -> str:
    return "rows of a tenant"


@get("/own/news", opt=rules(policy=PUBLIC, limit=ORDINARY))
async def news() -> str:
    return "news"


async def test_no_shared_cache_may_store_what_needs_a_token(app: TestApp) -> None:
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


async def test_what_is_made_of_the_application_s_state_may_be_kept(app: TestApp) -> None:
    async with client_of(hosting(app, with_kept)) as client:
        answer = await client.get("/own/kept", headers={"Authorization": f"Bearer {app.tokens['acme']}"})
    assert answer.status_code == 200


async def test_an_application_below_a_path_answers_unmatched_paths_as_ever(app: TestApp) -> None:
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
