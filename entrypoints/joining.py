"""Use cases of the ways into a tenant, on adapters."""

from datetime import timedelta
from typing import TypedDict

from adapters.http.operations.invitation_counts import InvitationCounts
from application.identity.administration.tenant_settings import TenantSettingsAdministration
from application.identity.joining.acceptance import Entrance, InvitationAcceptance, ReadPassword
from application.identity.joining.invitations import InvitationAdministration
from application.identity.joining.own_tenants import OwnTenants
from application.identity.joining.ownership import Ownership
from application.identity.joining.received import InvitationInbox
from application.identity.self_service import SelfService
from application.ports.runtime import PasswordRules
from entrypoints.composition import Adapters
from entrypoints.mail import link_secrets
from entrypoints.settings.settings import Settings


class JoiningUseCases(TypedDict):
    """Named as in ``UseCases``."""

    invitations: InvitationAdministration
    acceptance: InvitationAcceptance
    inbox: InvitationInbox
    invitation_counts: InvitationCounts
    ownership: Ownership
    own_tenants: OwnTenants
    self_service: SelfService
    tenant_settings: TenantSettingsAdministration


def joining_use_cases(
    adapters: Adapters,
    settings: Settings,
    entrance: Entrance,
    password_reader: ReadPassword,
    password_rules: PasswordRules,
) -> JoiningUseCases:
    database, cache, clock, ids = adapters.database, adapters.cache, adapters.clock, adapters.ids
    lifetime, counts = timedelta(days=settings.invitation_days), InvitationCounts()
    return JoiningUseCases(
        invitations=InvitationAdministration(database, link_secrets(settings), clock, ids, lifetime, counts),
        acceptance=InvitationAcceptance(
            database, adapters.passwords, password_reader, password_rules, entrance, cache, clock, ids, counts
        ),
        inbox=InvitationInbox(database, clock, counts),
        invitation_counts=counts,
        ownership=Ownership(database, adapters.revocations, cache, clock, ids),
        own_tenants=OwnTenants(database, cache, clock, ids, is_open=settings.self_service_tenants),
        self_service=SelfService(database, adapters.revocations, cache, clock),
        tenant_settings=TenantSettingsAdministration(database, adapters.revocations, clock),
    )
