"""/api/auth/reauthenticate: a new proof for operations that require a recent one."""

from litestar import Controller, Response, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import Data, identity_data
from adapters.http.request.rules import NO_SESSION, PEOPLE, action
from adapters.http.request.strict_request import StrictRequest
from application.identity.factors.forms import EMPTY, Begun, EmptyForm
from application.identity.factors.reauthentication import Reauthentication, ReauthenticationForm
from application.identity.login.forms import RefreshResult


class ReauthenticationController(Controller):
    path = "/api/auth/reauthenticate"
    tags = ("auth",)

    @post(
        "/",
        **action(
            "auth.reauthenticate",
            "Show again that it is you",
            PEOPLE,
            "ACCOUNT_LOCKED",
            *NO_SESSION,
            example={"password": "your password", "isPasswordEncrypted": False},
        ),
        description="Answers tokens of the same session, proved now; the refresh token of before is used up. "
        "An account with a second factor shows that one instead of the password.",
    )
    async def show(
        self,
        request: StrictRequest,
        data: JSONBody[ReauthenticationForm],
        reauthentication: NamedDependency[Reauthentication],
    ) -> Response[Data[RefreshResult]]:
        return identity_data(await reauthentication.show(request.caller, data, request.from_client))

    @post(
        "/passkey",
        **action("auth.reauthenticate-passkey", "Ask for one of one's passkeys", PEOPLE, example={}),
        description="`state` and the browser's answer to `options` go to reauthenticate.",
    )
    async def ask(
        self,
        request: StrictRequest,
        reauthentication: NamedDependency[Reauthentication],
        data: JSONBody[EmptyForm] = EMPTY,  # noqa: ARG002  # it may be left out; other fields are refused
    ) -> Response[Data[Begun]]:
        return identity_data(await reauthentication.ask(request.caller))
