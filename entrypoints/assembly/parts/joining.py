"""Builds the use cases for joining a tenant on adapters."""

from dataclasses import dataclass
from datetime import timedelta

from adapters.http.identity.joining.part import JoiningUseCases
from adapters.prometheus.outcomes import InvitationCounts
from application.identity.joining.acceptance import InvitationAcceptance
from application.identity.joining.domain_checks import DomainChecks
from application.identity.joining.domains import DomainAdministration
from application.identity.joining.invitations import InvitationAdministration
from application.identity.joining.join_requests import JoinRequestAdministration
from application.identity.joining.own_tenants import OwnTenants
from application.identity.joining.ownership import Ownership
from application.identity.joining.received import InvitationInbox
from entrypoints.assembly.adapters import Adapters
from entrypoints.assembly.mail import link_secrets
from entrypoints.assembly.parts.shared import SharedObjects
from entrypoints.settings.settings import Settings


@dataclass(frozen=True, kw_only=True)
class JoiningServices(JoiningUseCases):
    invitation_counts: InvitationCounts
    domain_checks: DomainChecks


def assemble_joining(adapters: Adapters, settings: Settings, shared: SharedObjects) -> JoiningServices:
    database, cache, clock, ids = adapters.database, adapters.cache, adapters.clock, adapters.ids
    departures, counts, secrets = shared.departures, shared.invitation_counts, link_secrets(settings)
    lifetime = timedelta(days=settings.invitation_days)
    return JoiningServices(
        invitations=InvitationAdministration(database, secrets, clock, ids, lifetime, counts),
        acceptance=InvitationAcceptance(
            database,
            departures,
            adapters.passwords,
            shared.password_reader,
            shared.password_rules,
            shared.sign_in,
            cache,
            clock,
            ids,
            counts,
            shared.applications,
        ),
        inbox=InvitationInbox(database, clock, counts),
        domains=DomainAdministration(database, adapters.dns, secrets, clock, ids),
        join_requests=JoinRequestAdministration(database, departures, counts, cache, clock),
        ownership=Ownership(database, departures, adapters.revocations, cache, clock, ids),
        own_tenants=OwnTenants(database, cache, clock, ids, is_open=settings.self_service_tenants),
        invitation_counts=counts,
        domain_checks=DomainChecks(database, adapters.dns, clock, ids),
    )
