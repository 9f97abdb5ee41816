"""The router of identity, composed of its parts."""

from dataclasses import fields
from typing import Any

from litestar import Router
from litestar.di import Provide
from litestar.types import ControllerRouterHandler

from adapters.http.identity.account import controllers as account
from adapters.http.identity.administration import controllers as administration
from adapters.http.identity.factors import controllers as factors
from adapters.http.identity.factors.passkeys import related_origins_handler
from adapters.http.identity.hosted_login import controllers as hosted_login
from adapters.http.identity.joining import controllers as joining
from adapters.http.identity.login import controllers as login
from adapters.http.identity.self_service import controllers as self_service
from adapters.http.identity.self_service.me import me_router
from adapters.http.identity.service_accounts import controllers as service_accounts
from adapters.http.identity.use_cases import IdentityUseCases
from adapters.http.request.rules import ORDINARY, rules
from adapters.http.routers import FreshRouter

CONTROLLERS = (
    *account.CONTROLLERS,
    *login.CONTROLLERS,
    *factors.CONTROLLERS,
    *hosted_login.CONTROLLERS,
    *self_service.CONTROLLERS,
    *administration.CONTROLLERS,
    *joining.CONTROLLERS,
    *service_accounts.CONTROLLERS,
)


def identity_router(services: IdentityUseCases) -> Router:
    """Return the router of identity.

    Only it has the use cases as dependencies, so that ``users`` or ``roles`` in a user's handler remain free.
    """
    # A handler has at most one dependency: Litestar would resolve two in a task group, at a higher cost than both.
    dependencies = {field.name: _use_case(services, field.name) for field in fields(IdentityUseCases)}
    handlers: list[ControllerRouterHandler] = [
        *CONTROLLERS,
        me_router(services.profiles, services.own_profile),
        related_origins_handler(services.related_origins),
    ]
    opt = rules(area="A", limit=ORDINARY, any_query=False)
    return FreshRouter("/", route_handlers=handlers, dependencies=dependencies, opt=opt)


def _use_case(services: IdentityUseCases, name: str) -> Provide:
    """Return a closure, not a bound method: registering a router deep-copies objects, but not functions."""

    async def provide() -> Any:
        return getattr(services, name)

    return Provide(provide)
