"""/api/auth: signing in and out."""

from litestar import Controller, Response, post
from litestar.di import NamedDependency
from litestar.params import JSONBody
from msgspec.structs import replace

from adapters.http.request.responses import Data, MessageOnly, identity_data, identity_message
from adapters.http.request.rules import APP_ID, NO_SESSION, PEOPLE, PUBLIC, action
from adapters.http.request.strict_request import StrictRequest
from application.identity.login.forms import (
    LoginForm,
    LoginResult,
    RefreshForm,
    RefreshResult,
    SwitchForm,
    SwitchResult,
)
from application.identity.login.sign_in import SignIn
from domain.limits import LOGIN

LOGIN_TEXT = """A user of one tenant gets a Tenant Token; one of several gets a Global Token, which only serves to \
choose a tenant with switch-tenant, unless `preferredTenantId` says which. MFA_REQUIRED comes with `mfa`, whose ticket \
goes to mfa/verify with a second factor."""


class AuthController(Controller):
    path = "/api/auth"
    tags = ("auth",)

    @post(
        "/login",
        **action(
            "auth.login",
            "Log in with e-mail and password",
            PUBLIC,
            "INVALID_CREDENTIALS",
            "ACCOUNT_LOCKED",
            *NO_SESSION,
            "FORBIDDEN",
            limit=LOGIN,
            by_email=True,
            parameters=(APP_ID,),
            example={"email": "admin@example.com", "password": "your password", "isPasswordEncrypted": False},
        ),
        description=LOGIN_TEXT,
    )
    async def login(
        self, request: StrictRequest, data: JSONBody[LoginForm], sign_in: NamedDependency[SignIn]
    ) -> Response[Data[LoginResult]]:
        form = replace(data, requested_app_id=request.requested_app_id(data.requested_app_id))
        return identity_data(await sign_in.login(form, request.from_client))

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
        self, request: StrictRequest, data: JSONBody[RefreshForm], sign_in: NamedDependency[SignIn]
    ) -> Response[Data[RefreshResult]]:
        return identity_data(await sign_in.refresh(data, request.from_client))

    @post(
        "/logout",
        **action("auth.logout", "Log out everywhere", PEOPLE),
        description="Ends every session of the user at once. Takes no body.",
    )
    async def logout(self, request: StrictRequest, sign_in: NamedDependency[SignIn]) -> Response[MessageOnly]:
        await sign_in.logout(request.caller, request.from_client)
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
        self, request: StrictRequest, data: JSONBody[SwitchForm], sign_in: NamedDependency[SignIn]
    ) -> Response[Data[SwitchResult]]:
        return identity_data(await sign_in.switch_tenant(request.caller, data, request.from_client))
