"""Use cases and controllers of administration."""

from dataclasses import dataclass

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
from application.identity.administration.held_permissions import HeldPermissions
from application.identity.administration.member_sessions import MemberSessions
from application.identity.administration.memberships import MembershipAdministration
from application.identity.administration.roles import RoleAdministration
from application.identity.administration.tenant_settings import TenantSettingsAdministration
from application.identity.administration.tenants import TenantAdministration
from application.identity.administration.users import UserAdministration

CONTROLLERS = (
    UsersController,
    MemberSessionsController,
    RolesController,
    PermissionsController,
    HeldPermissionsController,
    TenantsController,
    TenantSettingsController,
    MembershipsController,
)


@dataclass(frozen=True, kw_only=True)
class AdministrationUseCases:
    users: UserAdministration
    held_permissions: HeldPermissions
    member_sessions: MemberSessions
    roles: RoleAdministration
    tenants: TenantAdministration
    tenant_settings: TenantSettingsAdministration
    memberships: MembershipAdministration
