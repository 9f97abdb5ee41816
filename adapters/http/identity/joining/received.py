"""/api/auth/invitations: the caller's received invitations, and joining a tenant by one."""

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import Data, MessageOnly, identity_data, identity_message
from adapters.http.request.rules import APP_ID, PEOPLE, PUBLIC, PUBLIC_OR_TOKEN, action, operation
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.identity.joining.acceptance import AcceptForm, InvitationAcceptance, JoinedTenant
from application.identity.joining.received import (
    InvitationInbox,
    InvitationPreview,
    LinkForm,
    ReceivedInvitation,
)
from application.identity.login.forms import LoginResult
from domain.limits import Limit

ACCEPT_TEXT = """With a bearer token: joins with that account, whose address must be the invitation's, and answers the \
membership. Without one, `fullName` and `password` make an account for the address, and the answer is that of login; \
where the address has an account, log in first. Whatever keeps a link from serving is one error on `token`."""

INVITATION_LINK = Limit("invitation-link", 10)


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


class AcceptanceController(Controller):
    path = "/api/auth/invitations"
    tags = ("auth",)

    @post(
        "/accept",
        **action(
            "auth.accept-invitation",
            "Accept an invitation by its link",
            PUBLIC_OR_TOKEN,
            "CONFLICT",
            "FORBIDDEN",
            "MFA_REQUIRED",
            "MFA_ENROLMENT_REQUIRED",
            limit=INVITATION_LINK,
            parameters=(APP_ID,),
            example={"token": "of the link", "fullName": "Ada Example", "password": "a password of your own"},
        ),
        description=ACCEPT_TEXT,
    )
    async def accept(
        self, request: StrictRequest, data: JSONBody[AcceptForm], acceptance: NamedDependency[InvitationAcceptance]
    ) -> Response[Data[JoinedTenant | LoginResult]]:
        caller, client = request.caller_if_any, request.from_client
        if caller is not None:
            return identity_data(await acceptance.accept(caller, data, client))
        return identity_data(await acceptance.register(data, request.requested_app_id(), client))

    @post(
        "/{invitation_id:str}/accept",
        **action("auth.accept-received-invitation", "Accept an invitation to one's own address", PEOPLE, "FORBIDDEN"),
        description="Only for a proved address. Takes no body.",
    )
    async def accept_received(
        self, request: StrictRequest, invitation_id: PathId, acceptance: NamedDependency[InvitationAcceptance]
    ) -> Response[Data[JoinedTenant]]:
        found = read_id(invitation_id)
        return identity_data(await acceptance.accept_received(request.caller, found, request.from_client))
