"""/api/auth/me/email: a new address for one's own account."""

from litestar import Controller, Response, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import MessageOnly, identity_message
from adapters.http.request.rules import Policy, action
from adapters.http.request.strict_request import StrictRequest
from application.identity.email_changes import EmailChangeRequests, NewEmailForm
from domain.limits import CHANGE_EMAIL

CHANGE_TEXT = """A link goes to the new address and a notice to the old one. The address changes when \
`POST /api/auth/confirm-email` gets the link's values; accounts at social providers are unlinked then. The answer is \
the same for every address, in the same time; five a day. A new password, or another request, ends the link."""


class EmailChangesController(Controller):
    path = "/api/auth/me/email"
    tags = ("auth",)

    @post(
        "/",
        **action(
            "auth.change-email",
            "Ask for another e-mail address",
            Policy("any", recent=True, people=True),
            limit=CHANGE_EMAIL,
            by_email="silent",
            example={"email": "ada@new.example"},
        ),
        description=CHANGE_TEXT,
    )
    async def request(
        self, request: StrictRequest, data: JSONBody[NewEmailForm], email_changes: NamedDependency[EmailChangeRequests]
    ) -> Response[MessageOnly]:
        await email_changes.request(request.caller, data, request.from_client, silent=request.is_silenced)
        return identity_message("A mail with a link is on its way to the new address: it is yours once you open it.")
