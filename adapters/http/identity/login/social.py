"""/api/auth/social-login: login with an account at a social provider."""

from litestar import Controller, Response, post
from litestar.di import NamedDependency
from litestar.params import JSONBody
from msgspec.structs import replace

from adapters.http.request.responses import Data, identity_data
from adapters.http.request.rules import APP_ID, NO_SESSION, PUBLIC, action
from adapters.http.request.strict_request import StrictRequest
from application.identity.login.forms import LoginResult
from application.identity.social.social_sign_in import SocialForm, SocialSignIn

TEXT = """`accessToken` is what the provider gave the user's browser or phone: an access token for `google`, `github` \
and `facebook`, an id token for `microsoft`. It must have been issued to the application that this service is there.

The account is the one this identity was linked to before; else the one with its verified e-mail address; else a new \
one. Answers as login does."""

ERRORS = (
    "INVALID_CREDENTIALS",
    *NO_SESSION,
    "FORBIDDEN",
    "SERVICE_UNAVAILABLE",
)


class SocialController(Controller):
    path = "/api/auth"
    tags = ("auth",)

    @post(
        "/social-login",
        **action(
            "auth.social-login",
            "Log in with an account at a social provider",
            PUBLIC,  # counted by address: the body has no e-mail
            *ERRORS,
            parameters=(APP_ID,),
            example={"provider": "google", "accessToken": "the token that the provider gave"},
        ),
        description=TEXT,
    )
    async def login(
        self, request: StrictRequest, data: JSONBody[SocialForm], social_sign_in: NamedDependency[SocialSignIn]
    ) -> Response[Data[LoginResult]]:
        form = replace(data, requested_app_id=request.requested_app_id(data.requested_app_id))
        return identity_data(await social_sign_in.login(form, request.from_client))
