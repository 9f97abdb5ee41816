"""/api/auth/codes and /api/auth/code: one-time codes that hand a login over to a registered application."""

from litestar import Controller, Response, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import Data, identity_data
from adapters.http.request.rules import APP_ID, NO_SESSION, PUBLIC, RECENT_PEOPLE, action
from adapters.http.request.strict_request import StrictRequest
from application.identity.hosted_login.login_codes import CodeForm, ExchangeForm, LoginCode, LoginCodes
from application.identity.login.forms import LoginResult

MAKE_TEXT = """For pages that log somebody in and hand the login over: the token is one that a login with `X-App-Id` \
gave. The code goes to `redirect`, one of the application's `redirectUrls`, and serves there with the verifier that \
`codeChallenge` was made of (S256). The service's own page `/account/login` does this."""

EXCHANGE_TEXT = """A code lives 60 seconds and serves once. Its second use ends the session that it gave. With \
`X-App-Id` it must be a code of that application. Answers as login does."""


class LoginCodesController(Controller):
    path = "/api/auth"
    tags = ("auth",)

    @post(
        "/codes",
        **action(
            "auth.make-code",
            "Hand this login over by a one-time code",
            RECENT_PEOPLE,
            "FORBIDDEN",
            example={
                "redirect": "https://shop.example/signed-in",
                "codeChallenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
            },
        ),
        description=MAKE_TEXT,
    )
    async def make(
        self, request: StrictRequest, data: JSONBody[CodeForm], login_codes: NamedDependency[LoginCodes]
    ) -> Response[Data[LoginCode]]:
        return identity_data(await login_codes.make(request.caller, data))

    @post(
        "/code",
        **action(
            "auth.exchange-code",
            "Exchange a one-time code for the tokens of its login",
            PUBLIC,
            *NO_SESSION,
            "FORBIDDEN",
            parameters=(APP_ID,),
            example={"code": "the code of the address", "codeVerifier": "what the challenge was made of"},
        ),
        description=EXCHANGE_TEXT,
    )
    async def exchange(
        self, request: StrictRequest, data: JSONBody[ExchangeForm], login_codes: NamedDependency[LoginCodes]
    ) -> Response[Data[LoginResult]]:
        return identity_data(await login_codes.exchange(data, request.requested_app_id(), request.from_client))
