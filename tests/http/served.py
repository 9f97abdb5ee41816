"""The table of everything that an application serves, read from its routes."""

from collections.abc import Iterator
from typing import NamedTuple

from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute

from adapters.http.app import HttpSettings
from adapters.http.request.rules import RULES, Area, Policy, Rules, Unlimited
from adapters.http.use_cases import UseCases
from domain.limits import Limit
from tests.http.built_once import application_of


class Served(NamedTuple):
    """One handler under one method and path, such as ``GET /api/users/{user_id}``."""

    method: str
    path: str
    handler: HTTPRouteHandler

    @property
    def rules(self) -> Rules:
        rules: Rules = self.handler.opt[RULES]
        return rules

    @property
    def policy(self) -> Policy:
        return self.rules.policy

    @property
    def limit(self) -> Limit | Unlimited:
        return self.rules.limit

    @property
    def area(self) -> Area:
        return self.rules.area

    @property
    def operation(self) -> str:
        return self.rules.operation

    @property
    def tag(self) -> str:
        return (self.handler.resolve_tags() or [""])[0]

    @property
    def has_body(self) -> bool:
        return "data" in self.handler.parsed_fn_signature.parameters


def served_by(services: UseCases, settings: HttpSettings | None = None) -> list[Served]:
    return list(_table(application_of(services, settings or HttpSettings())))


def _table(app: Litestar) -> Iterator[Served]:
    """HEAD and OPTIONS come by themselves; Litestar's own paths beside its document are not ours."""
    for route in app.routes:
        assert isinstance(route, HTTPRoute), route
        for method, (handler, _) in route.route_handler_map.items():
            if method not in ("HEAD", "OPTIONS") and not route.path.startswith("/docs/v1"):
                yield Served(method, route.path_format, handler)
