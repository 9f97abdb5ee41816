"""/api/auth/reauthenticate: a proof shown anew, for what asks for a recent one."""

from litestar import Controller, Response, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import Data, tokens
from adapters.http.request.rules import ORDINARY, PEOPLE, operation, rules
from adapters.http.request.strict_request import StrictRequest
from application.identity.login.forms import RefreshResult
from application.identity.login.reauthentication import Reauthentication, ReauthenticationForm


class ReauthenticationController(Controller):
    path = "/api/auth/reauthenticate"
    tags = ("auth",)
    opt = rules(area="A", limit=ORDINARY)

    @post(
        "/",
        **operation(
            "auth.reauthenticate",
            "Show again that it is you",
            PEOPLE,
            "ACCOUNT_LOCKED",
            "ACCOUNT_DISABLED",
            "EMAIL_NOT_CONFIRMED",
            example={"password": "your password", "isPasswordEncrypted": False},
        ),
        status_code=200,
        description="Answers tokens of the same session, proved now; the refresh token of before is used up.",
    )
    async def show(
        self,
        request: StrictRequest,
        data: JSONBody[ReauthenticationForm],
        reauthentication: NamedDependency[Reauthentication],
    ) -> Response[Data[RefreshResult]]:
        return tokens(await reauthentication.show(request.caller, data, request.from_client))
