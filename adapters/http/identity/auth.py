"""/api/auth: signing in and out."""

from litestar import Controller, Response, post
from litestar.di import NamedDependency
from litestar.params import JSONBody
from msgspec.structs import replace

from adapters.http.identity.applications import APP_ID, requested_app_id
from adapters.http.request.responses import Data, MessageOnly, identity_message, tokens
from adapters.http.request.rules import ANY_TOKEN, ORDINARY, PUBLIC, rules
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
choose a tenant with switch-tenant, unless `preferredTenantId` says which."""


class AuthController(Controller):
    path = "/api/auth"
    tags = ("auth",)
    opt = rules(area="A", limit=ORDINARY)

    @post(
        "/login",
        name="auth.login",
        status_code=200,
        summary="Log in with e-mail and password",
        description=LOGIN_TEXT,
        opt=rules(
            policy=PUBLIC,
            limit=LOGIN,
            by_email=True,
            parameters=(APP_ID,),
            errors=("INVALID_CREDENTIALS", "ACCOUNT_LOCKED", "ACCOUNT_DISABLED", "EMAIL_NOT_CONFIRMED", "FORBIDDEN"),
            example={"email": "admin@example.com", "password": "your password", "isPasswordEncrypted": False},
        ),
    )
    async def login(
        self, request: StrictRequest, data: JSONBody[LoginForm], sign_in: NamedDependency[SignIn]
    ) -> Response[Data[LoginResult]]:
        app_id = requested_app_id(request, data.requested_app_id)
        return tokens(await sign_in.login(replace(data, requested_app_id=app_id), request.from_client))

    @post(
        "/refresh",
        name="auth.refresh",
        status_code=200,
        summary="Exchange a refresh token for a new pair",
        description="A refresh token is used once; with `tenantId` the new pair is for that tenant.",
        opt=rules(
            policy=PUBLIC,
            errors=("TOKEN_INVALID", "TOKEN_EXPIRED", "ACCOUNT_DISABLED", "EMAIL_NOT_CONFIRMED", "FORBIDDEN"),
            example={"refreshToken": "the refreshToken of your last answer"},
        ),
    )
    async def refresh(
        self, request: StrictRequest, data: JSONBody[RefreshForm], sign_in: NamedDependency[SignIn]
    ) -> Response[Data[RefreshResult]]:
        return tokens(await sign_in.refresh(data, request.from_client))

    @post(
        "/logout",
        name="auth.logout",
        status_code=200,
        summary="Log out everywhere",
        description="Ends every session of the user at once. Takes no body.",
        opt=rules(policy=ANY_TOKEN),
    )
    async def logout(self, request: StrictRequest, sign_in: NamedDependency[SignIn]) -> Response[MessageOnly]:
        await sign_in.logout(request.caller, request.from_client)
        return identity_message("You are logged out everywhere.")

    @post(
        "/switch-tenant",
        name="auth.switch-tenant",
        status_code=200,
        summary="Go to a tenant, with a Global or a Tenant Token",
        opt=rules(
            policy=ANY_TOKEN,
            errors=("ACCOUNT_DISABLED", "EMAIL_NOT_CONFIRMED", "FORBIDDEN"),
        ),
    )
    async def switch_tenant(
        self, request: StrictRequest, data: JSONBody[SwitchForm], sign_in: NamedDependency[SignIn]
    ) -> Response[Data[SwitchResult]]:
        return tokens(await sign_in.switch_tenant(request.caller, data, request.from_client))
