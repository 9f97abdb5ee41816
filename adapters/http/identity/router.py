"""The controllers of area A, and of the keys that verify its tokens."""

from typing import Any

from litestar import Router
from litestar.di import Provide
from litestar.types import ControllerRouterHandler

from adapters.http.identity.accounts import AccountsController
from adapters.http.identity.auth import AuthController
from adapters.http.identity.factors.factors import FactorResetsController, FactorsController
from adapters.http.identity.factors.mfa import MfaController
from adapters.http.identity.factors.passkeys import PasskeysController, related_origins_handler
from adapters.http.identity.factors.reauthentication import ReauthenticationController
from adapters.http.identity.keys import KeysController
from adapters.http.identity.me import me_router
from adapters.http.identity.memberships import MembershipsController
from adapters.http.identity.registration import RegistrationController
from adapters.http.identity.roles import PermissionsController, RolesController
from adapters.http.identity.sessions import SessionsController
from adapters.http.identity.social import SocialController
from adapters.http.identity.tenants import TenantsController
from adapters.http.identity.users import UsersController
from adapters.http.request.rules import rules
from adapters.http.use_cases import UseCases

CONTROLLERS = (
    AuthController,
    ReauthenticationController,
    MfaController,
    FactorsController,
    FactorResetsController,
    PasskeysController,
    SocialController,
    RegistrationController,
    AccountsController,
    SessionsController,
    UsersController,
    RolesController,
    PermissionsController,
    TenantsController,
    MembershipsController,
    KeysController,
)


def identity_router(services: UseCases) -> Router:
    """Use cases are dependencies of this router alone: ``users`` or ``roles`` in a user's own handler stay theirs."""
    # a handler takes one of them at most: Litestar resolves two in a task group, which costs more than both
    use_cases = {
        "accounts": services.accounts,
        "factor_reproofs": services.factor_reproofs,
        "factor_resets": services.factor_resets,
        "keyring": services.keyring,
        "memberships": services.memberships,
        "my_factors": services.my_factors,
        "my_sessions": services.my_sessions,
        "passkey_login": services.passkey_login,
        "reauthentication": services.reauthentication,
        "registration": services.registration,
        "roles": services.roles,
        "second_factor": services.second_factor,
        "sign_in": services.sign_in,
        "social_sign_in": services.social_sign_in,
        "tenants": services.tenants,
        "users": services.users,
    }
    dependencies = {name: _always(use_case) for name, use_case in use_cases.items()}
    handlers: list[ControllerRouterHandler] = [
        *CONTROLLERS,
        me_router(services.profiles),
        related_origins_handler(services.passkey_origins),
    ]
    return Router("/", route_handlers=handlers, dependencies=dependencies, opt=rules(any_query=False))


def _always(use_case: Any) -> Provide:
    """A closure and not a bound method: registering a router copies it deeply, and functions are left as they are."""

    async def provide() -> Any:
        return use_case

    return Provide(provide)
