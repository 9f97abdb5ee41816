"""Rules of a handler, derived from its ``opt``, name and signature."""

import re
from collections.abc import Mapping

from litestar.constants import OPENAPI_JSON_HANDLER_NAME
from litestar.enums import ParamType
from litestar.handlers import HTTPRouteHandler
from litestar.routes import ASGIRoute, HTTPRoute, WebSocketRoute

from adapters.http.request.rules import ORDINARY, Parameters, RuleOptions, Rules
from adapters.http.stored_responses import kept_dependencies
from domain.limits import endpoint_limit

_TYPE = re.compile(r":\w+\}")

OURS = "tenantry"
"""Key in ``opt`` that marks the handlers under the plugin's router."""


class NoPolicy(Exception):
    """Startup error for a handler without a policy or a limit, or with one that cannot be checked."""


def ensure_theirs(route: ASGIRoute | WebSocketRoute) -> None:
    """Raise NoPolicy for a non-HTTP route of the service, because the pipeline checks only HTTP requests."""
    handler = route.route_handler
    if OURS in handler.opt:
        raise NoPolicy(
            f"{handler} is a WebSocket or ASGI handler, for which no policy is judged: anybody would reach it. Register"
            " it with the application that the plugin is in"
        )


def rules_of(handler: HTTPRouteHandler, route: HTTPRoute) -> Rules:
    """Return the handler's rules. Raises NoPolicy if they are incomplete."""
    opt = handler.opt
    if "policy" not in opt or "limit" not in opt:
        raise NoPolicy(f"{handler} states no policy or no limit: give it opt=rules(policy=…, limit=…)")
    if kept := ", ".join(kept_dependencies(handler)):
        raise NoPolicy(f"{handler} takes {kept}, which use_cache keeps from one request for all callers")
    judges_query = not opt["any_query"] and not _reads_query(opt.get("parameters", ()))
    # Name an operation by its method and path, because function names may repeat. Litestar gives its document a random
    # name at every start.
    name = None if handler.name == OPENAPI_JSON_HANDLER_NAME else handler.name
    operation = name or _methods_and_path(handler, route)
    derived = {
        "limit": endpoint_limit(operation) if opt["limit"] == ORDINARY else opt["limit"],
        "operation": operation,
        "is_write": "GET" not in handler.http_methods,
        "query": _query_names(handler, route) if judges_query else None,
        "is_cached": handler.cache is not False,
        "named": _names_of_arguments(handler, route),
    }
    stated = {name: opt[name] for name in RuleOptions.__annotations__ if name in opt}
    return Rules(**stated | derived)


def _methods_and_path(handler: HTTPRouteHandler, route: HTTPRoute) -> str:
    """Return ``GET /api/stock``, with the handler's last sorted path: Litestar stores paths in a set."""
    paths = sorted(_TYPE.sub("}", path).rstrip("/") for path in handler.paths)
    own = max((path for path in paths if route.path_format.endswith(path)), key=len)
    path = route.path_format.removesuffix(own) + paths[-1]
    return f"{'/'.join(sorted(handler.http_methods))} {path}"


def _reads_query(parameters: Parameters) -> bool:
    return callable(parameters) or any(parameter.place == "query" for parameter in parameters)


def _query_names(handler: HTTPRouteHandler, route: HTTPRoute) -> frozenset[str] | None:
    taken = next(taken for own, taken in route.route_handler_map.values() if own is handler)
    if "query" in taken.expected_reserved_kwargs:
        return None
    # Some query parameters are dependencies without a provider. Clients must not set them.
    return frozenset(name.field_alias for name in taken.expected_query_params if name.param_type == ParamType.QUERY)


def _names_of_arguments(handler: HTTPRouteHandler, route: HTTPRoute) -> Mapping[str, str]:
    """Return the names that clients send by Python argument, if the two differ: Litestar's errors name the argument."""
    taken = next(taken for own, taken in route.route_handler_map.values() if own is handler)
    parameters = (*taken.expected_query_params, *taken.expected_header_params, *taken.expected_cookie_params)
    return {name.field_name: name.field_alias for name in parameters if name.field_name != name.field_alias}
