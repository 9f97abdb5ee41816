"""/api/auth: signing in and out."""

from dataclasses import dataclass
from typing import Protocol

from msgspec.structs import replace

from adapters.http.identity.applications import APP_ID, requested_app_id
from adapters.http.request.endpoint import (
    ANY_TOKEN,
    LOGIN_LIMIT,
    PUBLIC,
    Answer,
    Call,
    Endpoint,
    Shown,
    ordinary_limit,
)
from adapters.http.request.responses import message, tokens
from application.identity.login.forms import (
    LoginForm,
    LoginResult,
    RefreshForm,
    RefreshResult,
    SwitchForm,
    SwitchResult,
)
from application.identity.login.sign_in import SignIn

LOGIN_TEXT = """A user of one tenant gets a Tenant Token; one of several gets a Global Token, which only serves to \
choose a tenant with switch-tenant, unless `preferredTenantId` says which."""


@dataclass(frozen=True)
class Auth:
    sign_in: SignIn

    async def login(self, call: Call) -> Answer:
        form = call.form(LoginForm)
        form = replace(form, requested_app_id=requested_app_id(call, form.requested_app_id))
        return tokens(await self.sign_in.login(form, call.client))

    async def refresh(self, call: Call) -> Answer:
        return tokens(await self.sign_in.refresh(call.form(RefreshForm), call.client))

    async def switch_tenant(self, call: Call) -> Answer:
        form = call.form(SwitchForm)
        return tokens(await self.sign_in.switch_tenant(call.signed_in, form, call.client))

    async def logout(self, call: Call) -> Answer:
        await self.sign_in.logout(call.signed_in, call.client)
        return message("You are logged out everywhere.")


class SigningIn(Protocol):
    @property
    def sign_in(self) -> SignIn: ...


def auth_endpoints(services: SigningIn) -> list[Endpoint]:
    made = Auth(services.sign_in)
    return [_login(made), _refresh(made), _logout(made), _switch_tenant(made)]


def _login(made: Auth) -> Endpoint:
    return Endpoint(
        method="POST",
        path="/api/auth/login",
        run=made.login,
        policy=PUBLIC,
        limit=LOGIN_LIMIT,
        area="A",
        operation="auth.login",
        tag="auth",
        summary="Log in with e-mail and password",
        description=LOGIN_TEXT,
        shown=(Shown(200, "data", LoginResult),),
        body=LoginForm,
        example={"email": "admin@example.com", "password": "your password", "isPasswordEncrypted": False},
        parameters=(APP_ID,),
        errors=("INVALID_CREDENTIALS", "ACCOUNT_LOCKED", "ACCOUNT_DISABLED", "EMAIL_NOT_CONFIRMED", "FORBIDDEN"),
        by_email=True,
    )


def _refresh(made: Auth) -> Endpoint:
    return Endpoint(
        method="POST",
        path="/api/auth/refresh",
        run=made.refresh,
        policy=PUBLIC,
        limit=ordinary_limit("auth.refresh"),
        area="A",
        operation="auth.refresh",
        tag="auth",
        summary="Exchange a refresh token for a new pair",
        description="A refresh token is used once; with `tenantId` the new pair is for that tenant.",
        shown=(Shown(200, "data", RefreshResult),),
        body=RefreshForm,
        example={"refreshToken": "the refreshToken of your last answer"},
        errors=("TOKEN_INVALID", "TOKEN_EXPIRED", "ACCOUNT_DISABLED", "EMAIL_NOT_CONFIRMED", "FORBIDDEN"),
    )


def _logout(made: Auth) -> Endpoint:
    return Endpoint(
        method="POST",
        path="/api/auth/logout",
        run=made.logout,
        policy=ANY_TOKEN,
        limit=ordinary_limit("auth.logout"),
        area="A",
        operation="auth.logout",
        tag="auth",
        summary="Log out everywhere",
        description="Ends every session of the user at once. Takes no body.",
        shown=(Shown(200, "message"),),
    )


def _switch_tenant(made: Auth) -> Endpoint:
    return Endpoint(
        method="POST",
        path="/api/auth/switch-tenant",
        run=made.switch_tenant,
        policy=ANY_TOKEN,
        limit=ordinary_limit("auth.switch-tenant"),
        area="A",
        operation="auth.switch-tenant",
        tag="auth",
        summary="Go to a tenant, with a Global or a Tenant Token",
        shown=(Shown(200, "data", SwitchResult),),
        body=SwitchForm,
        errors=("ACCOUNT_DISABLED", "EMAIL_NOT_CONFIRMED", "FORBIDDEN"),
    )
