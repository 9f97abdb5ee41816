"""/api/auth/identities: the caller's accounts at social providers."""

from litestar import Controller, Response, delete, get
from litestar.di import NamedDependency
from litestar.params import FromPath

from adapters.http.request.responses import Data, MessageOnly, identity_data, identity_message
from adapters.http.request.rules import PEOPLE, RECENT_PEOPLE, action, operation
from adapters.http.request.strict_request import StrictRequest
from application.identity.self_service.linked_identities import LinkedIdentities
from application.ports.identity.accounts import LinkedProvider


class IdentitiesController(Controller):
    path = "/api/auth/identities"
    tags = ("auth",)

    @get(
        "/",
        **operation("auth.identities", "List one's accounts at social providers", PEOPLE),
        description="The first linked first.",
    )
    async def all(
        self, request: StrictRequest, identities: NamedDependency[LinkedIdentities]
    ) -> Response[Data[list[LinkedProvider]]]:
        return identity_data(await identities.all(request.caller))

    @delete(
        "/{provider:str}",
        **action(
            "auth.unlink-identity",
            "Unlink an account at a social provider",
            RECENT_PEOPLE,
            "NOT_FOUND",
            "CONFLICT",
        ),
        description="409 where it is the only way to log in: without a password, a passkey and another provider. "
        "A login by an account whose provider vouches for the same address links it again.",
    )
    async def unlink(
        self, request: StrictRequest, provider: FromPath[str], identities: NamedDependency[LinkedIdentities]
    ) -> Response[MessageOnly]:
        await identities.unlink(request.caller, provider, request.from_client)
        return identity_message("The account is unlinked. A login by it links it again while it has your address.")
