"""Responses that Litestar caches for a handler with ``cache=…``, and their permitted content."""

import hashlib
from collections.abc import Iterator
from typing import Any

from litestar import Request
from litestar.handlers import HTTPRouteHandler
from litestar.types import CacheKeyBuilder

from adapters.http.request.rules import RULES
from domain.scope import Caller


def cache_key_of_caller(given: "CacheKeyBuilder | None") -> "CacheKeyBuilder":
    """Return a function for Litestar's response cache key: default keys are separate for each caller, those of
    ``given`` for each tenant, or for each caller of a handler with ``rules(own=True)``.
    """

    def key(request: Request[Any, Any, Any]) -> str:
        caller: Caller | None = request.scope["auth"]
        if caller is None:
            return plain(request)
        seen = [caller.tenant_id, caller.is_super_admin, request.scope["state"].get("tenant_scope")]
        # Security: rights decide what the caller may see. The token itself changes every hour.
        is_shared = given is not None and not request.route_handler.opt[RULES].own
        who = [] if is_shared else [caller.user_id, caller.roles, caller.permissions]
        return f"{hashlib.sha256(repr([*seen, *who]).encode()).hexdigest()} {plain(request)}"

    def plain(request: Request[Any, Any, Any]) -> str:
        return (given or request.app.response_cache_config.key_builder)(request)

    return key


def kept_dependencies(handler: HTTPRouteHandler) -> Iterator[str]:
    """Return the handler's request-specific dependencies that ``use_cache`` would share between callers.

    ``state`` belongs to the application and is allowed, as are cached dependencies.
    """
    dependencies, seen = handler.resolve_dependencies(), set[str]()
    lasting = {"state", *(name for name, given in dependencies.items() if given.use_cache)}
    waiting = list(handler.parsed_fn_signature.parameters)
    while waiting:
        name = waiting.pop()
        if name in seen or name not in dependencies:
            continue
        seen.add(name)
        made_from = dependencies[name].parsed_fn_signature.parameters
        waiting += made_from
        if dependencies[name].use_cache and made_from.keys() - lasting:
            yield name
