"""/api/auth/passkeys: login with only a passkey, and the origins allowed to use the service's passkeys."""

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody
from msgspec.structs import replace

from adapters.http.request.responses import Data, bare, identity_data
from adapters.http.request.rules import APP_ID, NO_SESSION, PUBLIC, UNLIMITED, action, rules
from adapters.http.request.strict_request import StrictRequest
from application.identity.factors.forms import EMPTY, Begun, EmptyForm, RelatedOrigins
from application.identity.factors.passkey_login import PasskeyLogin, PasskeyLoginForm
from application.identity.login.forms import LoginResult
from domain.limits import Limit


class PasskeysController(Controller):
    path = "/api/auth/passkeys"
    tags = ("auth",)

    @post(
        "/begin",
        **action(
            "auth.begin-passkey-login",
            "Begin a login with a passkey",
            PUBLIC,
            limit=Limit("auth.begin-passkey-login", 10),
            example={},
        ),
        description="Nobody is named: the browser offers the passkeys that it has for this service.",
    )
    async def begin(
        self,
        passkey_login: NamedDependency[PasskeyLogin],
        data: JSONBody[EmptyForm] = EMPTY,  # noqa: ARG002  # it may be left out; other fields are refused
    ) -> Response[Data[Begun]]:
        return identity_data(await passkey_login.begin())

    @post(
        "/finish",
        **action(
            "auth.finish-passkey-login",
            "Log in with a passkey",
            PUBLIC,
            "INVALID_CREDENTIALS",
            *NO_SESSION,
            "FORBIDDEN",
            limit=Limit("auth.finish-passkey-login", 10),
            parameters=(APP_ID,),
            example={"state": "the state of begin", "response": {}},
        ),
        description="A passkey whose user was verified is two factors at once: no password and no second step follow.",
    )
    async def finish(
        self, request: StrictRequest, data: JSONBody[PasskeyLoginForm], passkey_login: NamedDependency[PasskeyLogin]
    ) -> Response[Data[LoginResult]]:
        form = replace(data, requested_app_id=request.requested_app_id(data.requested_app_id))
        return identity_data(await passkey_login.finish(form, request.from_client))


def related_origins_handler(related: RelatedOrigins) -> HTTPRouteHandler:
    @get(
        "/.well-known/webauthn",
        name="passkey-origins",
        summary="Origins that may use passkeys of this service",
        tags=["keys"],
        opt=rules(policy=PUBLIC, limit=UNLIMITED),
    )
    async def listed() -> Response[RelatedOrigins]:
        return bare(RelatedOrigins(origins=related.origins))

    return listed
