"""Use cases of joining a tenant that handlers call."""

from dataclasses import dataclass

from application.identity.joining.acceptance import InvitationAcceptance
from application.identity.joining.domains import DomainAdministration
from application.identity.joining.invitations import InvitationAdministration
from application.identity.joining.join_requests import JoinRequestAdministration
from application.identity.joining.own_tenants import OwnTenants
from application.identity.joining.ownership import Ownership
from application.identity.joining.received import InvitationInbox


@dataclass(frozen=True, kw_only=True)
class JoiningUseCases:
    invitations: InvitationAdministration
    acceptance: InvitationAcceptance
    inbox: InvitationInbox
    domains: DomainAdministration
    join_requests: JoinRequestAdministration
    ownership: Ownership
    own_tenants: OwnTenants
