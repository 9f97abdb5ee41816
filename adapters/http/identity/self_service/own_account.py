"""/api/auth/me: change of the caller's address, export of the stored data, and deletion of the account."""

from litestar import Controller, Response, delete, get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import Data, MessageOnly, identity_data, identity_message
from adapters.http.request.rules import RECENT_PEOPLE, action, operation
from adapters.http.request.strict_request import StrictRequest
from application.identity.self_service.account_deletion import AccountDeletion
from application.identity.self_service.email_changes import EmailChangeRequests, NewEmailForm
from application.identity.self_service.personal_export import PersonalExport
from application.ports.identity.personal_data import PersonalData
from domain.limits import Limit

CHANGE_TEXT = """A link goes to the new address and a notice to the old one. The address changes when \
`POST /api/auth/confirm-email` gets the link's values; accounts at social providers are unlinked then. The answer is \
the same for every address, in the same time; five a day. A new password, or another request, ends the link."""

CHANGE_EMAIL = Limit("change-email", 3)
PERSONAL_EXPORT = Limit("personal-export", 3)


class OwnAccountController(Controller):
    path = "/api/auth/me"
    tags = ("auth",)

    @delete(
        "/",
        **action("auth.delete-me", "Delete one's own account", RECENT_PEOPLE, "CONFLICT"),
        description="The last owner or Admin of a tenant and the last super-admin stay. Takes no body.",
    )
    async def remove(
        self, request: StrictRequest, account_deletion: NamedDependency[AccountDeletion]
    ) -> Response[MessageOnly]:
        await account_deletion.delete(request.caller, request.from_client)
        return identity_message("Your account is deleted.")

    @post(
        "/email",
        **action(
            "auth.change-email",
            "Ask for another e-mail address",
            RECENT_PEOPLE,
            limit=CHANGE_EMAIL,
            by_email="silent",
            example={"email": "ada@new.example"},
        ),
        description=CHANGE_TEXT,
    )
    async def change_email(
        self, request: StrictRequest, data: JSONBody[NewEmailForm], email_changes: NamedDependency[EmailChangeRequests]
    ) -> Response[MessageOnly]:
        await email_changes.request(request.caller, data, request.from_client, silent=request.is_silenced)
        return identity_message("A mail with a link is on its way to the new address: it is yours once you open it.")

    @get(
        "/export",
        **operation(
            "auth.export-me", "Export everything that is stored about oneself", RECENT_PEOPLE, limit=PERSONAL_EXPORT
        ),
        description="Without secrets, and without rows of entities, which belong to their tenants.",
    )
    async def export(
        self, request: StrictRequest, personal_export: NamedDependency[PersonalExport]
    ) -> Response[Data[PersonalData]]:
        return identity_data(await personal_export.of(request.caller))
