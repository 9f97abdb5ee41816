"""Tenantry as a Litestar plugin, which adds its routers to any application and changes nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from litestar import Router
from litestar.config.app import AppConfig
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.datastructures import ResponseSpec
from litestar.plugins import InitPlugin, ReceiveRoutePlugin
from litestar.routes import ASGIRoute, BaseRoute, HTTPRoute, WebSocketRoute
from litestar.types import ControllerRouterHandler, HTTPScope

from adapters.http.dependencies import dependencies
from adapters.http.docs.operations import operation_class, operation_id, shared_components
from adapters.http.docs.schemas import ExactSchemas
from adapters.http.duplicate_routes import ensure_served_once, without_own_front
from adapters.http.entities.own_routes import own_router
from adapters.http.entities.router import entity_routers, linked_files
from adapters.http.handler_rules import OURS, ensure_theirs, rules_of
from adapters.http.identity.router import identity_router
from adapters.http.operations.server_timing import ServerTiming, WorkTiming
from adapters.http.operations.system import system_router
from adapters.http.request.body import IDENTITY_BODY
from adapters.http.request.errors import ENVELOPES, answer_error
from adapters.http.request.pipeline import Pipeline
from adapters.http.request.rules import PUBLIC, RULES, UNLIMITED, Area, Rules, allowed
from adapters.http.request.strict_request import StrictRequest
from adapters.http.routers import FreshRouter
from adapters.http.stored_responses import cache_key_of_caller
from adapters.http.unmatched import answer_unmatched
from adapters.http.use_cases import UseCases


@dataclass(eq=False)
class HttpPlugin(InitPlugin, ReceiveRoutePlugin, ExactSchemas):
    """Litestar plugin that adds the service's handlers with the given use cases to an application.

    ``routes`` are your application's handlers, controllers and routers; they get the service's rules, errors and
    dependencies. ``beside`` are handlers of the service without use cases, such as its pages. With
    ``answers_everything``, the plugin answers every unknown path with the service's envelope; without it, only unknown
    paths below the service's. ``is_timed`` adds the times of all stages to the responses.
    """

    services: UseCases
    pipeline: Pipeline
    routes: Sequence[ControllerRouterHandler] = ()
    beside: Sequence[ControllerRouterHandler] = ()
    answers_everything: bool = False
    is_timed: bool = False

    def __post_init__(self) -> None:
        ExactSchemas.__init__(self, self.services.registry)
        self._areas: dict[str, Area] = {}  # by the first segment after /api: users, products
        self._below = ""  # path of the application: /shop
        self._handlers: set[int] = set()  # the application's handlers, by their id()

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        own = own_router(self.services, self.routes)
        beside = without_own_front(self.beside, own)
        routers: list[ControllerRouterHandler] = [
            identity_router(self.services),
            *entity_routers(self.services),
            *linked_files(self.services),
            system_router(self.services.system_reports),
        ]
        handlers = [*routers, *beside, own]
        router = self.router("/", handlers)
        ensure_served_once(router)
        app_config.route_handlers.append(router)
        self._below = app_config.path.rstrip("/")
        answer_unmatched(app_config, self.area_of, self._is_matched, self.pipeline)
        if app_config.openapi_config is not None:
            given = app_config.openapi_config.components
            added = shared_components()
            app_config.openapi_config.components = [*(given if isinstance(given, list) else [given]), added]
        return app_config

    def router(
        self, path: str, handlers: Sequence[ControllerRouterHandler], opt: dict[str, Any] | None = None, **options: Any
    ) -> Router:
        """Return a router with handlers behind the pipeline; the application's other handlers are not affected."""
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
        """Register a route. Litestar calls this after the route's handlers are complete and before
        its first request.
        """
        if not isinstance(route, HTTPRoute):
            other = cast(ASGIRoute | WebSocketRoute, route)
            self._handlers.add(id(other.route_handler))
            ensure_theirs(other)
            return
        self._handlers.update(id(handler) for handler, _ in route.route_handler_map.values())
        if not any(OURS in handler.opt for handler in route.route_handlers):
            return
        if "GET" in route.route_handler_map and "HEAD" not in route.route_handler_map:
            # The pipeline removes the body.
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
        """Read a handler's ``opt`` once, so that a request needs only one look-up, and document the handler's rules."""
        rules = handler.opt[RULES] = rules_of(handler, route)
        if rules.is_cached:
            handler.cache_key_builder = cache_key_of_caller(handler.cache_key_builder)
        envelope = ResponseSpec(ENVELOPES[rules.area], generate_examples=False)
        handler.responses = {500: envelope, **(handler.responses or {})}
        self.publish(handler)
        if not callable(handler.operation_id):
            handler.operation_id = operation_id(handler.operation_id or handler.name)
        handler.operation_class = operation_class(handler, rules, self)

    def area_of(self, path: str) -> Area | None:
        """Return the area with the envelope for an unknown path; None for a path of the application.

        ``/api/users/17`` → ``A``.
        """
        return self._areas.get(segment_of(path, self._below), "B" if self.answers_everything else None)

    def _is_matched(self, scope: HTTPScope) -> bool:
        """Return whether this application has the handler: a mounted application receives another one's scope."""
        return id(scope.get("route_handler")) in self._handlers


def segment_of(path: str, below: str = "") -> str:
    """Return the segment ``products`` of ``//api/products/17``; empty for paths outside /api.

    ``below`` is a path prefix.
    """
    inside = path.removeprefix(below) if path.startswith(f"{below}/") else ""
    steps = [step for step in inside.split("/") if step]
    return steps[1] if len(steps) > 1 and steps[0] == "api" else ""
