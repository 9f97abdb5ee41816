"""/api/auth: token refresh and logout."""

from litestar import Controller, Response, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import Data, MessageOnly, identity_data, identity_message
from adapters.http.request.rules import NO_SESSION, PEOPLE, PUBLIC, action
from adapters.http.request.strict_request import StrictRequest
from application.identity.login.forms import RefreshForm, RefreshResult, SwitchForm, SwitchResult
from application.identity.login.renewal import SessionRenewal
from application.identity.login.sign_out import SignOut


class RenewalController(Controller):
    path = "/api/auth"
    tags = ("auth",)

    @post(
        "/refresh",
        **action(
            "auth.refresh",
            "Exchange a refresh token for a new pair",
            PUBLIC,
            "TOKEN_INVALID",
            "TOKEN_EXPIRED",
            *NO_SESSION,
            "FORBIDDEN",
            example={"refreshToken": "the refreshToken of your last answer"},
        ),
        description="A refresh token is used once; with `tenantId` the new pair is for that tenant.",
    )
    async def refresh(
        self, request: StrictRequest, data: JSONBody[RefreshForm], renewal: NamedDependency[SessionRenewal]
    ) -> Response[Data[RefreshResult]]:
        return identity_data(await renewal.refresh(data, request.from_client))

    @post(
        "/logout",
        **action("auth.logout", "Log out everywhere", PEOPLE),
        description="Ends every session of the user at once. Takes no body.",
    )
    async def logout(self, request: StrictRequest, sign_out: NamedDependency[SignOut]) -> Response[MessageOnly]:
        await sign_out.logout(request.caller, request.from_client)
        return identity_message("You are logged out everywhere.")

    @post(
        "/switch-tenant",
        **action(
            "auth.switch-tenant",
            "Go to a tenant, with a Global or a Tenant Token",
            PEOPLE,
            *NO_SESSION,
            "REAUTHENTICATION_REQUIRED",
            "FORBIDDEN",
        ),
    )
    async def switch_tenant(
        self, request: StrictRequest, data: JSONBody[SwitchForm], renewal: NamedDependency[SessionRenewal]
    ) -> Response[Data[SwitchResult]]:
        return identity_data(await renewal.switch_tenant(request.caller, data, request.from_client))
