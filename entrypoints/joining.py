"""Use cases of the ways into a tenant, on adapters."""

from datetime import timedelta

from application.identity.joining.acceptance import Entrance, InvitationAcceptance, ReadPassword
from application.identity.joining.invitations import InvitationAdministration
from application.ports.runtime import PasswordRules
from entrypoints.composition import Adapters
from entrypoints.mail import link_secrets
from entrypoints.settings.settings import Settings


def invitations_of(adapters: Adapters, settings: Settings) -> InvitationAdministration:
    return InvitationAdministration(
        database=adapters.database,
        secrets=link_secrets(settings),
        clock=adapters.clock,
        ids=adapters.ids,
        lifetime=timedelta(days=settings.invitation_days),
    )


def acceptance_of(
    adapters: Adapters, entrance: Entrance, password_reader: ReadPassword, password_rules: PasswordRules
) -> InvitationAcceptance:
    return InvitationAcceptance(
        database=adapters.database,
        passwords=adapters.passwords,
        password_reader=password_reader,
        password_rules=password_rules,
        entrance=entrance,
        cache=adapters.cache,
        clock=adapters.clock,
        ids=adapters.ids,
    )
