"""Use cases of administration on adapters."""

from dataclasses import dataclass

from adapters.http.identity.administration.part import AdministrationUseCases
from application.identity.administration.held_permissions import HeldPermissions
from application.identity.administration.member_sessions import MemberSessions
from application.identity.administration.memberships import MembershipAdministration
from application.identity.administration.operator_accounts import OperatorAccounts
from application.identity.administration.roles import RoleAdministration
from application.identity.administration.tenant_settings import TenantSettingsAdministration
from application.identity.administration.tenants import TenantAdministration
from application.identity.administration.users import UserAdministration
from domain.entities.permissions import permissions_of
from domain.parts.composition import OWN_PERMISSIONS
from domain.scope import registered
from entrypoints.assembly.adapters import Adapters, lifetimes
from entrypoints.assembly.parts.shared import SharedObjects, recent_proof
from entrypoints.settings.settings import Settings


@dataclass(frozen=True, kw_only=True)
class AdministrationServices(AdministrationUseCases):
    operator_accounts: OperatorAccounts


def assemble_administration(adapters: Adapters, settings: Settings, shared: SharedObjects) -> AdministrationServices:
    database, revocations, passwords = adapters.database, adapters.revocations, adapters.passwords
    cache, clock, ids = adapters.cache, adapters.clock, adapters.ids
    departures, rules = shared.departures, shared.password_rules
    permissions = [*OWN_PERMISSIONS, *(registered(name, "entities") for name in permissions_of(adapters.registry))]
    return AdministrationServices(
        users=UserAdministration(
            database, departures, revocations, passwords, rules, cache, clock, ids, recent_proof(settings)
        ),
        held_permissions=HeldPermissions(database),
        member_sessions=MemberSessions(database, revocations, clock, lifetimes(settings)),
        roles=RoleAdministration(database, revocations, permissions, clock, ids),
        tenants=TenantAdministration(database, revocations, cache, clock, ids),
        tenant_settings=TenantSettingsAdministration(database, revocations, clock, ids, recent_proof(settings)),
        memberships=MembershipAdministration(database, departures, revocations, cache, clock, ids),
        operator_accounts=OperatorAccounts(database, revocations, passwords, rules, cache, clock),
    )
