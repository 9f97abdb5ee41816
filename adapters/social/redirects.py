"""Logins by redirect: where browsers are sent, and what the code that they bring back is exchanged for."""

import hmac
from base64 import urlsafe_b64decode
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct

from adapters.social.provider_client import ProviderClient, Question
from application.ports.identity.accounts import Authorization, ProviderCode

LEEWAY = 60
"""Seconds that a provider's clock and ours may differ."""


class Endpoints(Struct, frozen=True, kw_only=True):
    """The addresses of a social provider for logins by redirect, and the form of its answers.

    ``issuers`` are those of the provider's id tokens; empty where the provider has none.
    """

    authorization: str
    token: str
    scope: str
    issuers: tuple[str, ...] = ()
    has_id_token: bool = False


def endpoints_of(provider: str, base: str | None) -> Endpoints:
    """``base`` takes the place of the provider's own hosts, with the same paths."""
    match provider:
        case "google":
            return Endpoints(
                authorization=f"{base or 'https://accounts.google.com'}/o/oauth2/v2/auth",
                token=f"{base or 'https://oauth2.googleapis.com'}/token",
                scope="openid email profile",
                issuers=("https://accounts.google.com", "accounts.google.com", *([base] if base else [])),
                has_id_token=True,
            )
        case "microsoft":
            host = base or "https://login.microsoftonline.com"
            return Endpoints(
                authorization=f"{host}/common/oauth2/v2.0/authorize",
                token=f"{host}/common/oauth2/v2.0/token",
                scope="openid email profile",
                has_id_token=True,
            )
        case "github":
            # The base of an enterprise host is its API, below a path; its pages stand at the root.
            host = "https://github.com" if base is None else "://".join(urlsplit(base)[:2])
            return Endpoints(
                authorization=f"{host}/login/oauth/authorize",
                token=f"{host}/login/oauth/access_token",
                scope="read:user user:email",
            )
        case "facebook":
            return Endpoints(
                authorization=f"{base or 'https://www.facebook.com'}/dialog/oauth",
                token=f"{base or 'https://graph.facebook.com'}/oauth/access_token",
                scope="email public_profile",
            )
        case _:
            raise AssertionError(provider)


class Exchanged(Struct, frozen=True):
    """Tokens for a code; GitHub answers 200 with an error, and so with neither."""

    access_token: str | None = None
    id_token: str | None = None


class _Claims(Struct, frozen=True):
    sub: str
    iss: str
    aud: str
    exp: float
    nonce: str = ""


class CodeExchange(Struct, frozen=True):
    """Our registration with one provider, for logins by redirect."""

    client: ProviderClient
    endpoints: Endpoints
    client_id: str
    client_secret: str

    def authorization_url(self, asked: Authorization) -> str:
        query = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": asked.redirect_uri,
            "scope": self.endpoints.scope,
            "state": asked.state,
            "code_challenge": asked.challenge,
            "code_challenge_method": "S256",
        }
        if self.endpoints.has_id_token:
            query["nonce"] = asked.nonce
        return f"{self.endpoints.authorization}?{urlencode(query)}"

    async def exchange(self, code: ProviderCode) -> Exchanged | None:
        form = {
            "grant_type": "authorization_code",
            "code": code.code,
            "redirect_uri": code.redirect_uri,
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "code_verifier": code.verifier,
        }
        return await self.client.ask(Question(url=self.endpoints.token, form=form), Exchanged)

    def subject_of(self, id_token: str, nonce: str, now: float) -> str | None:
        """The subject of an id token that came from the token endpoint itself; None for a wrong one.

        OpenID Connect Core, 3.1.3.7: there TLS says who made it. Audience, issuer, time and nonce are checked here.
        """
        claims = _claims(id_token)
        if claims is None or not has_nonce(id_token, nonce):
            return None
        is_ours = claims.aud == self.client_id and claims.iss in self.endpoints.issuers and now < claims.exp + LEEWAY
        return claims.sub if is_ours else None


def has_nonce(id_token: str, nonce: str) -> bool:
    """Whether the id token was made for the browser that the nonce was sent with."""
    claims = _claims(id_token)
    return claims is not None and hmac.compare_digest(claims.nonce.encode(), nonce.encode())


def _claims(id_token: str) -> _Claims | None:
    try:
        _, payload, _ = id_token.split(".")
        return msgspec.json.decode(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)), type=_Claims)
    except (ValueError, msgspec.MsgspecError):
        return None
