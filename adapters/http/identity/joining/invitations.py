"""/api/invitations: invitations into the caller's tenant."""

from typing import TypeAlias

from litestar import Controller, Response, delete, get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.identity.administration.listing import PAGE_PARAMETERS
from adapters.http.request.responses import Data, MessageOnly, identity_data, identity_message
from adapters.http.request.rules import Parameter, action, needs, operation
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.identity.joining.invitations import (
    STATUSES,
    InvitationAdministration,
    InvitationBatch,
    InvitationForm,
    InvitationItem,
    InvitationPage,
    InvitationsMade,
)
from domain.limits import Limit

PARAMETERS = (
    *PAGE_PARAMETERS,
    Parameter("status", {"type": "string"}, f"One or more, separated by commas, of: {', '.join(STATUSES)}."),
)
LISTED = {"location": "/api/invitations"}
"""An invitation has no separate path: the list shows it."""

Invitations: TypeAlias = NamedDependency[InvitationAdministration]

INVITE = Limit("invitations", 20)


class InvitationsController(Controller):
    path = "/api/invitations"
    tags = ("invitations",)

    @get(
        "/",
        **operation(
            "invitations.page", "List the tenant's invitations", needs("read:invitations"), parameters=PARAMETERS
        ),
        description="The latest first.",
    )
    async def page(self, request: StrictRequest, invitations: Invitations) -> Response[Data[InvitationPage]]:
        return identity_data(await invitations.page(request.caller, request.parameters()))

    @post(
        "/",
        **operation(
            "invitations.create",
            "Invite somebody into the tenant",
            needs("create:invitations"),
            "CONFLICT",
            limit=INVITE,
            example={"email": "ada@example.com", "roles": ["Member"]},
        ),
        description="The answer, and its time, do not tell whether the address has an account. 200 a day.",
    )
    async def create(
        self, request: StrictRequest, data: JSONBody[InvitationForm], invitations: Invitations
    ) -> Response[Data[InvitationItem]]:
        return identity_data(await invitations.create(request.caller, data, request.from_client), headers=LISTED)

    @post(
        "/batch",
        **operation(
            "invitations.create-batch",
            "Invite up to a hundred people",
            needs("create:invitations"),
            "CONFLICT",
            limit=INVITE,
            example={"items": [{"email": "ada@example.com", "roles": ["Member"]}]},
        ),
        description="All or none: errors name the items that fail.",
    )
    async def create_batch(
        self, request: StrictRequest, data: JSONBody[InvitationBatch], invitations: Invitations
    ) -> Response[Data[InvitationsMade]]:
        return identity_data(await invitations.create_batch(request.caller, data, request.from_client), headers=LISTED)

    @post(
        "/{invitation_id:str}/resend",
        **action(
            "invitations.resend", "Send an invitation again", needs("create:invitations"), "CONFLICT", limit=INVITE
        ),
        description="With a new link, which ends the old one; the caller becomes the inviter. Takes no body.",
    )
    async def resend(
        self, request: StrictRequest, invitation_id: PathId, invitations: Invitations
    ) -> Response[Data[InvitationItem]]:
        return identity_data(await invitations.resend(request.caller, read_id(invitation_id), request.from_client))

    @delete(
        "/{invitation_id:str}",
        **action("invitations.revoke", "Revoke an invitation", needs("delete:invitations"), "CONFLICT"),
    )
    async def revoke(
        self, request: StrictRequest, invitation_id: PathId, invitations: Invitations
    ) -> Response[MessageOnly]:
        await invitations.revoke(request.caller, read_id(invitation_id), request.from_client)
        return identity_message("The invitation is revoked: its link does not work any more.")
