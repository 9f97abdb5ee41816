"""/api/auth/me: deleting one's own account."""

from litestar import Controller, Response, delete
from litestar.di import NamedDependency

from adapters.http.request.responses import MessageOnly, identity_message
from adapters.http.request.rules import Policy, action
from adapters.http.request.strict_request import StrictRequest
from application.identity.self_service import SelfService


class SelfServiceController(Controller):
    path = "/api/auth/me"
    tags = ("auth",)

    @delete(
        "/",
        **action("auth.delete-me", "Delete one's own account", Policy("any", recent=True, people=True), "CONFLICT"),
        description="The last owner or Admin of a tenant and the last super-admin stay. Takes no body.",
    )
    async def remove(self, request: StrictRequest, self_service: NamedDependency[SelfService]) -> Response[MessageOnly]:
        await self_service.delete(request.caller, request.from_client)
        return identity_message("Your account is deleted.")
