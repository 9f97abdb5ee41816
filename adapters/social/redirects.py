"""Logins by redirect: the addresses for browsers, and the exchange of the returned code."""

import hmac
from base64 import urlsafe_b64decode
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct

from adapters.social.provider_client import ProviderClient, Question
from application.ports.identity.accounts import Authorization, ProviderCode

LEEWAY = 60
"""Tolerated difference from a provider's clock, in seconds."""


class Endpoints(Struct, frozen=True, kw_only=True):
    """Addresses of a social provider for logins by redirect, and the format of its responses.

    ``issuers`` are the accepted issuers of id tokens; empty for a provider without id tokens.
    """

    authorization: str
    token: str
    scope: str
    issuers: tuple[str, ...] = ()
    has_id_token: bool = False


def endpoints_of(provider: str, base: str | None) -> Endpoints:
    """Return the endpoints; ``base`` replaces the provider's hosts, with the same paths."""
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
            # An enterprise host serves its API below a path and its pages at the root.
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
    """Tokens for a code; GitHub returns errors with status 200, and then without tokens."""

    access_token: str | None = None
    id_token: str | None = None


class _Claims(Struct, frozen=True):
    sub: str
    iss: str
    aud: str
    exp: float
    nonce: str = ""


class CodeExchange(Struct, frozen=True):
    """Exchanges codes with one provider, using the service's registration."""

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
        """Return the subject of an id token from the token endpoint; None for an invalid token.

        TLS to that endpoint proves the issuer (OpenID Connect Core, 3.1.3.7). This method checks audience, issuer, time
        and nonce.
        """
        claims = _claims(id_token)
        if claims is None or not has_nonce(id_token, nonce):
            return None
        is_ours = claims.aud == self.client_id and claims.iss in self.endpoints.issuers and now < claims.exp + LEEWAY
        return claims.sub if is_ours else None


def has_nonce(id_token: str, nonce: str) -> bool:
    """Return whether the id token was issued for the nonce's browser."""
    claims = _claims(id_token)
    return claims is not None and hmac.compare_digest(claims.nonce.encode(), nonce.encode())


def _claims(id_token: str) -> _Claims | None:
    try:
        _, payload, _ = id_token.split(".")
        return msgspec.json.decode(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)), type=_Claims)
    except (ValueError, msgspec.MsgspecError):
        return None
