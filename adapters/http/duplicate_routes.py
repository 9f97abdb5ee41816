"""Methods and paths with more than one handler."""

import re
from collections import Counter
from collections.abc import Sequence

from litestar import Router
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute
from litestar.types import ControllerRouterHandler

_PARAMETER = re.compile(r"\{(?:(?!:path\})[^}])+\}")


class DuplicateRoutes(Exception):
    """Methods and paths with more than one handler; Litestar would use only the last."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("; ".join(mistakes))


def ensure_served_once(router: Router) -> None:
    routes = [route for route in router.routes if isinstance(route, HTTPRoute)]
    wanted = Counter(
        (method, route.path) for route in routes for handler in route.route_handlers for method in handler.http_methods
    )
    mistakes = [f"{method} {path} is served twice" for (method, path), times in wanted.items() if times > 1]
    # Compare paths without parameter names, because Litestar would serve only the last such route.
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
        # Litestar adds OPTIONS handlers. Report them only if no other route is duplicate.
        others = [mistake for mistake in mistakes if not mistake.startswith("OPTIONS ")]
        raise DuplicateRoutes(
            others or [f"{mistake}: all handlers of a path belong to one router" for mistake in mistakes]
        )


def without_own_front(beside: Sequence[ControllerRouterHandler], own: Router) -> list[ControllerRouterHandler]:
    """Return the handlers, without the service's handler of ``/`` if the project has a page there."""
    has_front = any(route.path == "/" for route in own.routes)
    return [
        handler
        for handler in beside
        if not (has_front and isinstance(handler, HTTPRouteHandler) and handler.paths == {"/"})
    ]
