"""Use cases and controllers of joining a tenant."""

from dataclasses import dataclass

from adapters.http.identity.joining.domains import DomainsController
from adapters.http.identity.joining.invitations import InvitationsController
from adapters.http.identity.joining.join_requests import JoinRequestsController
from adapters.http.identity.joining.ownership import OwnershipController, OwnTenantsController
from adapters.http.identity.joining.received import AcceptanceController, ReceivedInvitationsController
from application.identity.joining.acceptance import InvitationAcceptance
from application.identity.joining.domains import DomainAdministration
from application.identity.joining.invitations import InvitationAdministration
from application.identity.joining.join_requests import JoinRequestAdministration
from application.identity.joining.own_tenants import OwnTenants
from application.identity.joining.ownership import Ownership
from application.identity.joining.received import InvitationInbox

CONTROLLERS = (
    InvitationsController,
    ReceivedInvitationsController,
    AcceptanceController,
    DomainsController,
    JoinRequestsController,
    OwnershipController,
    OwnTenantsController,
)


@dataclass(frozen=True, kw_only=True)
class JoiningUseCases:
    invitations: InvitationAdministration
    acceptance: InvitationAcceptance
    inbox: InvitationInbox
    domains: DomainAdministration
    join_requests: JoinRequestAdministration
    ownership: Ownership
    own_tenants: OwnTenants
