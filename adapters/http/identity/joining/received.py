"""/api/auth/invitations: invitations that somebody has received."""

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import Data, MessageOnly, identity_data, identity_message
from adapters.http.request.rules import PEOPLE, PUBLIC, action, operation
from adapters.http.request.strict_request import StrictRequest
from application.identity.joining.received import (
    InvitationInbox,
    InvitationPreview,
    LinkForm,
    ReceivedInvitation,
)
from domain.limits import INVITATION_LINK


class ReceivedInvitationsController(Controller):
    path = "/api/auth/invitations"
    tags = ("auth",)

    @get(
        "/",
        **operation("auth.invitations", "List the invitations to one's own address", PEOPLE, "FORBIDDEN"),
        description="Only for a proved address: one that was confirmed, or that a social provider vouched for.",
    )
    async def received(
        self, request: StrictRequest, inbox: NamedDependency[InvitationInbox]
    ) -> Response[Data[list[ReceivedInvitation]]]:
        return identity_data(await inbox.received(request.caller))

    @post(
        "/preview",
        **action("auth.preview-invitation", "See what a link is for", PUBLIC, limit=INVITATION_LINK),
    )
    async def preview(
        self, data: JSONBody[LinkForm], inbox: NamedDependency[InvitationInbox]
    ) -> Response[Data[InvitationPreview]]:
        return identity_data(await inbox.preview(data))

    @post(
        "/decline",
        **action("auth.decline-invitation", "Decline an invitation by its link", PUBLIC, limit=INVITATION_LINK),
    )
    async def decline(
        self, request: StrictRequest, data: JSONBody[LinkForm], inbox: NamedDependency[InvitationInbox]
    ) -> Response[MessageOnly]:
        await inbox.decline(data, request.from_client)
        return identity_message("The invitation is declined.")
