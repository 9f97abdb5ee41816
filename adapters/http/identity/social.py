"""/api/auth/social-login: signing in with an account elsewhere."""

from dataclasses import dataclass
from typing import Protocol

from msgspec.structs import replace

from adapters.http.identity.applications import APP_ID, requested_app_id
from adapters.http.request.endpoint import PUBLIC, Answer, Call, Endpoint, Shown, ordinary_limit
from adapters.http.request.old_responses import tokens
from application.identity.login.social_sign_in import SocialForm, SocialSignIn

TEXT = """`accessToken` is what the provider gave the user's browser or phone: an access token for `google`, `github` \
and `facebook`, an id token for `microsoft`. It must have been issued to the application that this service is there.

The account is the one this identity was linked to before; else the one with its verified e-mail address; else a new \
one. Answers as login does."""


@dataclass(frozen=True)
class Social:
    social_sign_in: SocialSignIn

    async def login(self, call: Call) -> Answer:
        form = call.form(SocialForm)
        form = replace(form, requested_app_id=requested_app_id(call, form.requested_app_id))
        return tokens(await self.social_sign_in.login(form, call.client))


class SigningInElsewhere(Protocol):
    @property
    def social_sign_in(self) -> SocialSignIn: ...


def social_endpoints(services: SigningInElsewhere) -> list[Endpoint]:
    return [
        Endpoint(
            method="POST",
            path="/api/auth/social-login",
            run=Social(services.social_sign_in).login,
            policy=PUBLIC,
            limit=ordinary_limit("auth.social-login"),
            area="A",
            operation="auth.social-login",
            tag="auth",
            summary="Log in with an account at a social provider",
            description=TEXT,
            shown=(Shown(200, "data", "LoginResult"),),
            body=SocialForm,
            example={"provider": "google", "accessToken": "the token that the provider gave"},
            parameters=(APP_ID,),
            errors=(
                "INVALID_CREDENTIALS",
                "ACCOUNT_DISABLED",
                "EMAIL_NOT_CONFIRMED",
                "FORBIDDEN",
                "SERVICE_UNAVAILABLE",
            ),
        )
    ]
