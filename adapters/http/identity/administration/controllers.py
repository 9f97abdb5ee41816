"""Controllers of administration."""

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
