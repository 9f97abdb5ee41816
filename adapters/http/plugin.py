"""Tenantry as a Litestar plugin: its routers in any application, which is otherwise left as it was."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from litestar import Request, Response, Router
from litestar.config.app import AppConfig
from litestar.constants import OPENAPI_JSON_HANDLER_NAME
from litestar.di import Provide
from litestar.exceptions import ClientException, HTTPException, MethodNotAllowedException, NotFoundException
from litestar.exceptions.responses import create_exception_response
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.datastructures import ResponseSpec
from litestar.plugins import InitPlugin, ReceiveRoutePlugin
from litestar.routes import ASGIRoute, BaseRoute, HTTPRoute, WebSocketRoute
from litestar.types import ControllerRouterHandler, HTTPScope

from adapters.http.docs.operations import operation_class, operation_id, query_names, shared_components
from adapters.http.docs.schemas import ExactSchemas
from adapters.http.entities.own_routes import cache_key_of_caller, kept_dependencies, own_router
from adapters.http.entities.router import entity_routers
from adapters.http.identity.router import identity_router
from adapters.http.operations.server_timing import ServerTiming, WorkTiming
from adapters.http.operations.system import system_router
from adapters.http.request.body import IDENTITY_BODY
from adapters.http.request.errors import ENVELOPES, answer_error
from adapters.http.request.pipeline import Pipeline, Refusal
from adapters.http.request.rules import (
    ORDINARY,
    PUBLIC,
    RULES,
    UNLIMITED,
    Area,
    Parameters,
    RuleOptions,
    Rules,
    allowed,
)
from adapters.http.request.strict_request import StrictRequest
from adapters.http.routers import FreshRouter
from adapters.http.use_cases import UseCases
from domain.limits import endpoint_limit
from domain.scope import Caller, Client, Scope

_PARAMETER = re.compile(r"\{(?:(?!:path\})[^}])+\}")

OURS = "tenantry"
"""Key of ``opt`` by which the plugin knows the handlers under its router."""


class NoPolicy(Exception):
    """A handler without a policy or a limit, or one that none can be judged for: the application does not start."""


class ServedTwice(Exception):
    """Methods and paths that more than one handler wants; Litestar would leave all but the last of them out."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("; ".join(mistakes))


@dataclass(eq=False)
class HttpPlugin(InitPlugin, ReceiveRoutePlugin, ExactSchemas):
    """Litestar plugin that adds the service's handlers, on use cases that are given, to an application.

    ``routes`` are handlers, controllers and routers of your own, which get our rules, errors and dependencies.
    ``beside`` are handlers of the service that need no use case, such as its pages. ``answers_everything`` gives our
    envelope to every path that no route matches; without it, only paths under ours get it. ``is_timed`` puts a watch
    around every stage, and its times into the responses.
    """

    services: UseCases
    pipeline: Pipeline
    routes: Sequence[ControllerRouterHandler] = ()
    beside: Sequence[ControllerRouterHandler] = ()
    answers_everything: bool = False
    is_timed: bool = False

    def __post_init__(self) -> None:
        ExactSchemas.__init__(self, self.services.registry)
        self._areas: dict[str, Area] = {}  # by the first step under /api: users, products
        self._below = ""  # path of the application: /shop
        self._handlers: set[int] = set()  # of the application, by their id

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        own = own_router(self.services, self.routes)
        beside = _without_own_front(self.beside, own)
        routers = [
            identity_router(self.services),
            *entity_routers(self.services),
            system_router(self.services.system_reports),
        ]
        handlers = [*routers, *beside, own]
        router = self.router("/", handlers)
        _ensure_served_once(router)
        app_config.route_handlers.append(router)
        self._below = app_config.path.rstrip("/")
        _answer_unmatched(app_config, self.area_of, self._is_matched, self.pipeline)
        if app_config.openapi_config is not None:
            given = app_config.openapi_config.components
            added = shared_components()
            app_config.openapi_config.components = [*(given if isinstance(given, list) else [given]), added]
        return app_config

    def router(
        self, path: str, handlers: Sequence[ControllerRouterHandler], opt: dict[str, Any] | None = None, **options: Any
    ) -> Router:
        """A router whose handlers go through the pipeline; nothing of it reaches anybody else's handlers."""
        return FreshRouter(
            path,
            route_handlers=handlers,
            opt={OURS: True, "area": "B", "any_query": True, **(opt or {})},
            middleware=[ServerTiming(), self.pipeline, WorkTiming()] if self.is_timed else [self.pipeline],
            request_class=StrictRequest,
            request_max_body_size=IDENTITY_BODY,
            exception_handlers={Exception: answer_error},
            dependencies=dependencies(),
            **options,
        )

    def receive_route(self, route: BaseRoute) -> None:
        """Called once a route's handlers are complete, and before requests can reach it."""
        if not isinstance(route, HTTPRoute):
            other = cast(ASGIRoute | WebSocketRoute, route)
            self._handlers.add(id(other.route_handler))
            _ensure_theirs(other)
            return
        self._handlers.update(id(handler) for handler, _ in route.route_handler_map.values())
        if not any(OURS in handler.opt for handler in route.route_handlers):
            return
        if "GET" in route.route_handler_map and "HEAD" not in route.route_handler_map:
            # the pipeline takes the body off
            route.route_handler_map["HEAD"] = route.route_handler_map["GET"]
        for method, (handler, _) in route.route_handler_map.items():
            if method == "OPTIONS" and not handler.include_in_schema:
                allow = ", ".join(allowed(route.route_handler_map))
                handler.opt[RULES] = Rules(policy=PUBLIC, limit=UNLIMITED, area="B", operation="options", allow=allow)
                continue
            if not isinstance(handler.opt.get(RULES), Rules):
                self._apply_rules(handler, route)
            if segment := segment_of(route.path, self._below):
                self._areas.setdefault(segment, handler.opt["area"])

    def _apply_rules(self, handler: HTTPRouteHandler, route: HTTPRoute) -> None:
        """Judges a handler's ``opt`` once, so that a request costs one look-up; and documents what it says."""
        opt = handler.opt
        if "policy" not in opt or "limit" not in opt:
            raise NoPolicy(f"{handler} states no policy or no limit: give it opt=rules(policy=…, limit=…)")
        if kept := ", ".join(kept_dependencies(handler)):
            raise NoPolicy(f"{handler} takes {kept}, which use_cache keeps from one request for all callers")
        judges_query = not opt["any_query"] and not _reads_query(opt.get("parameters", ()))
        # two functions of users' own may have one name, a method and path have one function
        # and Litestar calls its document by a random name that every start makes anew
        name = None if handler.name == OPENAPI_JSON_HANDLER_NAME else handler.name
        operation = name or f"{'/'.join(sorted(handler.http_methods))} {route.path_format}"
        limit = opt["limit"]
        derived = {
            "limit": endpoint_limit(operation) if limit == ORDINARY else limit,
            "operation": operation,
            "is_write": "GET" not in handler.http_methods,
            "query": query_names(handler, route.path_parameters) if judges_query else None,
            "is_cached": handler.cache is not False,
        }
        stated = {name: opt[name] for name in RuleOptions.__annotations__ if name in opt}
        rules = opt[RULES] = Rules(**stated | derived)
        if rules.is_cached:
            handler.cache_key_builder = cache_key_of_caller(handler.cache_key_builder)
        envelope = ResponseSpec(ENVELOPES[rules.area], generate_examples=False)
        handler.responses = {500: envelope, **(handler.responses or {})}
        self.publish(handler)
        if not callable(handler.operation_id):
            handler.operation_id = operation_id(handler.operation_id or handler.name)
        handler.operation_class = operation_class(handler, rules, self)

    def area_of(self, path: str) -> Area | None:
        """Area whose envelope a path without a handler gets: ``/api/users/17`` → ``A``; None for a stranger's path."""
        return self._areas.get(segment_of(path, self._below), "B" if self.answers_everything else None)

    def _is_matched(self, scope: HTTPScope) -> bool:
        """Whether a handler of this application has the request; one that is mounted gets the scope of another."""
        return id(scope.get("route_handler")) in self._handlers


def _ensure_theirs(route: ASGIRoute | WebSocketRoute) -> None:
    """Raises NoPolicy where a route of ours is no HTTP route: the pipeline judges requests of HTTP handlers alone."""
    handler = route.route_handler
    if OURS in handler.opt:
        raise NoPolicy(
            f"{handler} is a WebSocket or ASGI handler, for which no policy is judged: anybody would reach it. Register"
            " it with the application that the plugin is in"
        )


def segment_of(path: str, below: str = "") -> str:
    """``//api/products/17`` → ``products``; empty for paths that are not under /api, which is ``below`` a path."""
    inside = path.removeprefix(below) if path.startswith(f"{below}/") else ""
    steps = [step for step in inside.split("/") if step]
    return steps[1] if len(steps) > 1 and steps[0] == "api" else ""


def dependencies() -> dict[str, Provide]:
    """Arguments that users' handlers may take: ``caller``, ``client``, ``tenant_scope``.

    A handler of ours takes one at most: Litestar resolves two of them in a task group, which costs more than both.
    """
    return {
        "caller": Provide(provide_caller),
        "client": Provide(provide_client),
        "tenant_scope": Provide(provide_tenant_scope),
    }


async def provide_caller(request: Request[Any, Any, Any]) -> Caller:
    return cast(StrictRequest, request).caller


async def provide_client(request: Request[Any, Any, Any]) -> Client:
    return cast(StrictRequest, request).from_client


async def provide_tenant_scope(request: Request[Any, Any, Any]) -> Scope:
    return cast(StrictRequest, request).tenant_scope


def _without_own_front(beside: Sequence[ControllerRouterHandler], own: Router) -> list[ControllerRouterHandler]:
    """The handlers without that of ``/`` where a project has a page of its own there."""
    has_front = any(route.path == "/" for route in own.routes)
    return [
        handler
        for handler in beside
        if not (has_front and isinstance(handler, HTTPRouteHandler) and handler.paths == {"/"})
    ]


def _reads_query(parameters: Parameters) -> bool:
    """True where a handler reads query parameters itself, and so names the unknown ones; headers do not count."""
    return callable(parameters) or any(parameter.place == "query" for parameter in parameters)


def _ensure_served_once(router: Router) -> None:
    routes = [route for route in router.routes if isinstance(route, HTTPRoute)]
    wanted = Counter(
        (method, route.path) for route in routes for handler in route.route_handlers for method in handler.http_methods
    )
    mistakes = [f"{method} {path} is served twice" for (method, path), times in wanted.items() if times > 1]
    # Litestar would serve the last of them alone, as above.
    paths: dict[tuple[str, str], list[str]] = {}
    for method, path in wanted:
        if method != "OPTIONS":
            paths.setdefault((method, _PARAMETER.sub("{}", path)), []).append(path)
    mistakes += [
        f"{method} {' and '.join(same)} are one path: parameters are told apart by no name or type"
        for (method, _), same in paths.items()
        if len(same) > 1
    ]
    if mistakes:
        # Litestar gives each handler an OPTIONS of its own: that is only told where nothing else is served twice.
        others = [mistake for mistake in mistakes if not mistake.startswith("OPTIONS ")]
        raise ServedTwice(others or [f"{mistake}: all handlers of a path belong to one router" for mistake in mistakes])


Answer = Callable[[Request[Any, Any, Any], Any], Response[Any]]


def _answer_unmatched(
    app_config: AppConfig,
    area_of: Callable[[str], Area | None],
    is_matched: Callable[[HTTPScope], bool],
    pipeline: Pipeline,
) -> None:
    """404, 405 and odd hosts are found before any route: the application's own handlers answer them."""
    theirs = dict(app_config.exception_handlers)

    def answer(request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
        is_theirs = is_matched(request.scope)
        if not is_theirs and (area := area_of(request.scope["path"])):
            return Refusal(error, area, pipeline)
        return _as_before(request, error, theirs, answer, is_matched=is_theirs)

    for kind in (NotFoundException, MethodNotAllowedException, ClientException):
        app_config.exception_handlers[kind] = answer
    # keys that are a status beat those that are a class
    for status in {404, 405, 400} & theirs.keys():
        app_config.exception_handlers[status] = answer


def _as_before(
    request: Request[Any, Any, Any], error: HTTPException, theirs: Any, ours: Answer, *, is_matched: bool
) -> Response[Any]:
    """The answer that the application would give without us, found in Litestar's own order."""
    handlers = dict(theirs)
    if is_matched:
        layered = request.scope["route_handler"].resolve_exception_handlers()
        handlers |= {key: handler for key, handler in layered.items() if handler is not ours}
    keys = (error.status_code, *type(error).__mro__)
    found: Answer = next((handlers[key] for key in keys if key in handlers), create_exception_response)
    return found(request, error)
