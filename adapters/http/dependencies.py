"""Handler arguments provided after the pipeline."""

from typing import Any, cast

from litestar import Request
from litestar.di import Provide

from adapters.http.request.strict_request import StrictRequest
from domain.scope import Caller, Client, Scope


def dependencies() -> dict[str, Provide]:
    """Return the arguments for users' handlers: ``caller``, ``client``, ``tenant_scope``.

    A handler of the service uses at most one: Litestar resolves two in a task group, at a higher cost than both
    arguments.
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
