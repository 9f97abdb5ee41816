"""Controllers of joining a tenant."""

from adapters.http.identity.joining.domains import DomainsController
from adapters.http.identity.joining.invitations import InvitationsController
from adapters.http.identity.joining.join_requests import JoinRequestsController
from adapters.http.identity.joining.ownership import OwnershipController, OwnTenantsController
from adapters.http.identity.joining.received import AcceptanceController, ReceivedInvitationsController

CONTROLLERS = (
    InvitationsController,
    ReceivedInvitationsController,
    AcceptanceController,
    DomainsController,
    JoinRequestsController,
    OwnershipController,
    OwnTenantsController,
)
