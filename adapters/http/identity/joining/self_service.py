"""/api/auth/me: changing and deleting one's own account."""

from litestar import Controller, Response, delete, put
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import Data, MessageOnly, identity_data, identity_message
from adapters.http.request.rules import ORDINARY, PEOPLE, Policy, operation, rules
from adapters.http.request.strict_request import StrictRequest
from application.identity.self_service import MyAccount, MyAccountForm, SelfService


class SelfServiceController(Controller):
    path = "/api/auth/me"
    tags = ("auth",)
    opt = rules(area="A", limit=ORDINARY)

    @put(
        "/",
        **operation("auth.update-me", "Change one's own name, telephone number and picture", PEOPLE),
        description="Fields sent change, fields left out stay. Tokens show the new name from the next refresh on.",
    )
    async def update(
        self, request: StrictRequest, data: JSONBody[MyAccountForm], self_service: NamedDependency[SelfService]
    ) -> Response[Data[MyAccount]]:
        return identity_data(await self_service.update(request.caller, data, request.from_client))

    @delete(
        "/",
        **operation("auth.delete-me", "Delete one's own account", Policy("any", recent=True, people=True), "CONFLICT"),
        status_code=200,
        description="The last owner or Admin of a tenant and the last super-admin stay. Takes no body.",
    )
    async def remove(self, request: StrictRequest, self_service: NamedDependency[SelfService]) -> Response[MessageOnly]:
        await self_service.delete(request.caller, request.from_client)
        return identity_message("Your account is deleted.")
