"""The controllers of area A, and of the keys that verify its tokens."""

from dataclasses import fields
from typing import Any

from litestar import Router
from litestar.di import Provide
from litestar.types import ControllerRouterHandler

from adapters.http.identity.account.accounts import AccountsController
from adapters.http.identity.administration.member_sessions import MemberSessionsController
from adapters.http.identity.administration.memberships import MembershipsController
from adapters.http.identity.administration.roles import (
    HeldPermissionsController,
    PermissionsController,
    RolesController,
)
from adapters.http.identity.administration.tenant_settings import TenantSettingsController
from adapters.http.identity.administration.tenants import TenantsController
from adapters.http.identity.administration.users import UsersController
from adapters.http.identity.factors.mfa import MfaController
from adapters.http.identity.factors.my_factors import FactorResetsController, FactorsController
from adapters.http.identity.factors.passkeys import PasskeysController, related_origins_handler
from adapters.http.identity.factors.reauthentication import ReauthenticationController
from adapters.http.identity.hosted_login.codes import LoginCodesController
from adapters.http.identity.joining.domains import DomainsController
from adapters.http.identity.joining.invitations import InvitationsController
from adapters.http.identity.joining.join_requests import JoinRequestsController
from adapters.http.identity.joining.ownership import OwnershipController, OwnTenantsController
from adapters.http.identity.joining.received import AcceptanceController, ReceivedInvitationsController
from adapters.http.identity.login.auth import AuthController
from adapters.http.identity.login.keys import KeysController
from adapters.http.identity.login.renewal import RenewalController
from adapters.http.identity.login.social import SocialController
from adapters.http.identity.self_service.identities import IdentitiesController
from adapters.http.identity.self_service.me import me_router
from adapters.http.identity.self_service.own_account import OwnAccountController
from adapters.http.identity.self_service.sessions import SessionsController
from adapters.http.identity.service_accounts.accounts import ServiceAccountsController
from adapters.http.identity.service_accounts.keys import ApiKeysController
from adapters.http.identity.service_accounts.token import MetadataController, TokenController
from adapters.http.request.rules import ORDINARY, rules
from adapters.http.routers import FreshRouter
from adapters.http.use_cases import IdentityUseCases, UseCases

CONTROLLERS = (
    AuthController,
    RenewalController,
    ReauthenticationController,
    MfaController,
    FactorsController,
    FactorResetsController,
    PasskeysController,
    SocialController,
    LoginCodesController,
    AccountsController,
    SessionsController,
    MemberSessionsController,
    UsersController,
    RolesController,
    PermissionsController,
    HeldPermissionsController,
    TenantsController,
    TenantSettingsController,
    MembershipsController,
    InvitationsController,
    ReceivedInvitationsController,
    AcceptanceController,
    DomainsController,
    JoinRequestsController,
    OwnershipController,
    OwnTenantsController,
    OwnAccountController,
    IdentitiesController,
    KeysController,
    ServiceAccountsController,
    ApiKeysController,
    TokenController,
    MetadataController,
)


def identity_router(services: UseCases) -> Router:
    """Use cases are dependencies of this router alone: ``users`` or ``roles`` in a user's own handler stay theirs."""
    # a handler takes one of them at most: Litestar resolves two in a task group, which costs more than both
    dependencies = {field.name: _use_case(services, field.name) for field in fields(IdentityUseCases)}
    handlers: list[ControllerRouterHandler] = [
        *CONTROLLERS,
        me_router(services.profiles, services.own_profile),
        related_origins_handler(services.related_origins),
    ]
    opt = rules(area="A", limit=ORDINARY, any_query=False)
    return FreshRouter("/", route_handlers=handlers, dependencies=dependencies, opt=opt)


def _use_case(services: UseCases, name: str) -> Provide:
    """A closure and not a bound method: registering a router copies it deeply, and functions are left as they are."""

    async def provide() -> Any:
        return getattr(services, name)

    return Provide(provide)
