"""Enabled social providers, each with a limit of three seconds."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from adapters.social.facebook import Facebook
from adapters.social.github import GitHub
from adapters.social.google import Google
from adapters.social.microsoft import Microsoft
from adapters.social.provider_client import ProviderClient, away, fits_a_header
from adapters.social.redirects import CodeExchange, endpoints_of, has_nonce
from application.ports.identity.accounts import Authorization, ProviderCode, SocialIdentity

SECONDS = 3.0
"""Time limit for all of a login's requests to its provider."""


class ProviderSettings(Struct, frozen=True, kw_only=True):
    """Our registration with a provider; ``base_url`` replaces the provider's own hosts."""

    client_id: str
    client_secret: str
    base_url: str | None


class Provider(Protocol):
    async def identify(self, token: str) -> SocialIdentity | None: ...


class HttpSocialProviders:
    def __init__(
        self, registered: Mapping[str, ProviderSettings], now: Callable[[], datetime], seconds: float = SECONDS
    ) -> None:
        self._client = ProviderClient()
        self._seconds = seconds
        self._now = now
        self._providers = {name: _provider(name, given, self._client, now) for name, given in registered.items()}
        self._redirects = {
            name: CodeExchange(self._client, endpoints_of(name, _base(given)), given.client_id, given.client_secret)
            for name, given in registered.items()
            if given.client_secret
        }

    @property
    def names(self) -> Collection[str]:
        return self._providers.keys()

    async def identify(self, provider: str, access_token: str) -> SocialIdentity | None:
        if not fits_a_header(access_token):
            return None
        try:
            async with asyncio.timeout(self._seconds):
                return await self._providers[provider].identify(access_token)
        except TimeoutError:
            raise away("takes too long") from None

    @property
    def redirecting(self) -> Collection[str]:
        return self._redirects.keys()

    def authorization_url(self, provider: str, asked: Authorization) -> str:
        return self._redirects[provider].authorization_url(asked)

    async def redeem(self, provider: str, code: ProviderCode) -> SocialIdentity | None:
        if not fits_a_header(code.code):
            return None
        try:
            async with asyncio.timeout(self._seconds):
                return await self._redeemed(provider, code)
        except TimeoutError:
            raise away("takes too long") from None

    async def _redeemed(self, provider: str, code: ProviderCode) -> SocialIdentity | None:
        redirect = self._redirects[provider]
        tokens = await redirect.exchange(code)
        if tokens is None:
            return None
        token = tokens.id_token if provider == "microsoft" else tokens.access_token
        if not token:
            return None
        identity = await self._providers[provider].identify(token)
        if identity is None or not redirect.endpoints.has_id_token:
            return identity
        id_token = tokens.id_token or ""
        if provider == "microsoft":
            # The provider client has verified all other claims with the signature, so only the nonce is left.
            return identity if has_nonce(id_token, code.nonce) else None
        subject = redirect.subject_of(id_token, code.nonce, self._now().timestamp())
        return identity if subject == identity.subject else None

    async def close(self) -> None:
        await self._client.close()


def _base(given: ProviderSettings) -> str | None:
    return given.base_url.rstrip("/") if given.base_url else None


def _provider(name: str, given: ProviderSettings, client: ProviderClient, now: Callable[[], datetime]) -> Provider:
    base = _base(given)
    match name:
        case "google":
            return Google(client, given.client_id, base)
        case "github":
            return GitHub(client, given.client_id, given.client_secret, base)
        case "facebook":
            return Facebook(client, given.client_id, given.client_secret, base)
        case "microsoft":
            return Microsoft(client, given.client_id, base, now)
        case _:
            raise AssertionError(name)
