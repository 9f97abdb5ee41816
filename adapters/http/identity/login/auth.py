"""/api/auth/login: login by e-mail and password."""

from litestar import Controller, Response, post
from litestar.di import NamedDependency
from litestar.params import JSONBody
from msgspec.structs import replace

from adapters.http.request.responses import Data, identity_data
from adapters.http.request.rules import APP_ID, NO_SESSION, PUBLIC, action
from adapters.http.request.strict_request import StrictRequest
from application.identity.login.forms import LoginForm, LoginResult
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
