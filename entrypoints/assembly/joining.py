"""Use cases of the ways into a tenant, and of people's own accounts, on adapters."""

from datetime import timedelta
from typing import TypedDict

from adapters.joserfc.address_digests import KeyedAddressDigests
from adapters.prometheus.outcomes import InvitationCounts
from application.identity.administration.tenant_settings import TenantSettingsAdministration
from application.identity.joining.acceptance import InvitationAcceptance
from application.identity.joining.departures import Departures
from application.identity.joining.domain_checks import DomainChecks
from application.identity.joining.domains import DomainAdministration
from application.identity.joining.invitations import InvitationAdministration
from application.identity.joining.join_requests import JoinRequestAdministration
from application.identity.joining.own_tenants import OwnTenants
from application.identity.joining.ownership import Ownership
from application.identity.joining.received import InvitationInbox
from application.identity.login.sign_in import SignIn
from application.identity.passwords.encrypted_passwords import PasswordReader
from application.identity.passwords.password_rules import PasswordRules
from application.identity.self_service.account_deletion import AccountDeletion
from application.identity.self_service.email_changes import EmailChangeRequests
from application.identity.self_service.linked_identities import LinkedIdentities
from application.identity.self_service.personal_export import PersonalExport
from entrypoints.assembly.adapters import Adapters
from entrypoints.assembly.logins import applications_of
from entrypoints.assembly.mail import link_secrets
from entrypoints.settings.settings import Settings


class JoiningUseCases(TypedDict):
    """Use cases of the ways into a tenant and of one's own account, named as in ``UseCases``."""

    invitations: InvitationAdministration
    acceptance: InvitationAcceptance
    inbox: InvitationInbox
    invitation_counts: InvitationCounts
    domains: DomainAdministration
    domain_checks: DomainChecks
    join_requests: JoinRequestAdministration
    ownership: Ownership
    own_tenants: OwnTenants
    account_deletion: AccountDeletion
    email_changes: EmailChangeRequests
    identities: LinkedIdentities
    personal_export: PersonalExport
    tenant_settings: TenantSettingsAdministration


def joining_use_cases(
    adapters: Adapters,
    settings: Settings,
    sign_in: SignIn,
    password_reader: PasswordReader,
    password_rules: PasswordRules,
    counts: InvitationCounts,
) -> JoiningUseCases:
    database, cache, clock, ids = adapters.database, adapters.cache, adapters.clock, adapters.ids
    departures = departures_of(settings)
    lifetime = timedelta(days=settings.invitation_days)
    return JoiningUseCases(
        invitations=InvitationAdministration(database, link_secrets(settings), clock, ids, lifetime, counts),
        acceptance=InvitationAcceptance(
            database,
            departures,
            adapters.passwords,
            password_reader,
            password_rules,
            sign_in,
            cache,
            clock,
            ids,
            counts,
            applications_of(adapters, settings),
        ),
        inbox=InvitationInbox(database, clock, counts),
        invitation_counts=counts,
        domains=DomainAdministration(database, adapters.dns, link_secrets(settings), clock, ids),
        domain_checks=DomainChecks(database, adapters.dns, clock, ids),
        join_requests=JoinRequestAdministration(database, departures, counts, cache, clock),
        ownership=Ownership(database, departures, adapters.revocations, cache, clock, ids),
        own_tenants=OwnTenants(database, cache, clock, ids, is_open=settings.self_service_tenants),
        account_deletion=AccountDeletion(database, departures, adapters.revocations, cache, clock),
        email_changes=email_changes_of(adapters, settings),
        identities=LinkedIdentities(database, adapters.social, adapters.cache, clock, ids),
        personal_export=PersonalExport(database),
        tenant_settings=TenantSettingsAdministration(database, adapters.revocations, clock),
    )


def departures_of(settings: Settings) -> Departures:
    assert settings.secret_key is not None
    other = settings.other_secret_key.reveal() if settings.other_secret_key else None
    return Departures(KeyedAddressDigests(settings.secret_key.reveal(), other))


def email_changes_of(adapters: Adapters, settings: Settings) -> EmailChangeRequests:
    return EmailChangeRequests(
        adapters.database, adapters.revocations, adapters.cache, link_secrets(settings), adapters.clock, adapters.ids
    )
