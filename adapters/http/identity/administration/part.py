"""Use cases of administration that handlers call."""

from dataclasses import dataclass

from application.identity.administration.held_permissions import HeldPermissions
from application.identity.administration.member_sessions import MemberSessions
from application.identity.administration.memberships import MembershipAdministration
from application.identity.administration.roles import RoleAdministration
from application.identity.administration.tenant_settings import TenantSettingsAdministration
from application.identity.administration.tenants import TenantAdministration
from application.identity.administration.users import UserAdministration


@dataclass(frozen=True, kw_only=True)
class AdministrationUseCases:
    users: UserAdministration
    held_permissions: HeldPermissions
    member_sessions: MemberSessions
    roles: RoleAdministration
    tenants: TenantAdministration
    tenant_settings: TenantSettingsAdministration
    memberships: MembershipAdministration
