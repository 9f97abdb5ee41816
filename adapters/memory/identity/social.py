"""Links of social identities to users, and providers with a test's tokens."""

from collections.abc import Collection, Mapping, MutableMapping
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from msgspec import Struct

from adapters.memory.identity.state import LinkedIdentity
from adapters.memory.store import Access
from application.ports.identity.accounts import Authorization, LinkedProvider, ProviderCode, SocialIdentity
from domain.errors import ServiceUnavailable
from domain.identity.redirects import challenge_of


@dataclass(frozen=True)
class MemorySocialIdentities:
    access: Access

    async def user_of(self, provider: str, subject: str) -> UUID | None:
        linked = self.access.read().social.get((provider, subject))
        return linked.user_id if linked else None

    async def of_user(self, user_id: UUID) -> list[LinkedProvider]:
        entries = sorted(
            (linked.linked_at, *key) for key, linked in self.access.read().social.items() if linked.user_id == user_id
        )
        return [LinkedProvider(provider, linked_at) for linked_at, provider, _ in entries]

    async def link(self, provider: str, subject: str, user_id: UUID, at: datetime) -> bool:
        async with self.access.write() as store:
            if (provider, subject) in store.social:
                return False
            store.social[provider, subject] = LinkedIdentity(user_id, at)
            return True

    async def unlink(self, user_id: UUID, provider: str) -> bool:
        async with self.access.write() as store:
            every = store.social.items()
            gone = [key for key, linked in every if linked.user_id == user_id and key[0] == provider]
            for key in gone:
                del store.social[key]
            return bool(gone)

    async def unlink_all(self, user_id: UUID) -> None:
        async with self.access.write() as store:
            store.social = {key: linked for key, linked in store.social.items() if linked.user_id != user_id}


class IssuedCode(Struct, frozen=True):
    """A provider's code: the identity that it proves, and the request for which the provider issued it."""

    identity: SocialIdentity
    asked: Authorization


@dataclass(frozen=True)
class MemorySocialProviders:
    """Providers with ``tokens`` and ``codes``, each for an identity.

    Those in ``away`` raise ServiceUnavailable; browsers can be sent to those in ``redirecting``.
    """

    names: Collection[str]
    tokens: Mapping[str, SocialIdentity] = field(default_factory=dict)
    away: Collection[str] = ()
    redirecting: Collection[str] = ()
    codes: MutableMapping[str, IssuedCode] = field(default_factory=dict)

    async def identify(self, provider: str, access_token: str) -> SocialIdentity | None:
        self._ensure_there(provider)
        found = self.tokens.get(access_token)
        return found if found is not None and found.provider == provider else None

    def authorization_url(self, provider: str, asked: Authorization) -> str:
        query = {
            "response_type": "code",
            "redirect_uri": asked.redirect_uri,
            "state": asked.state,
            "nonce": asked.nonce,
            "code_challenge": asked.challenge,
            "code_challenge_method": "S256",
        }
        return f"https://{provider}.example/authorize?{urlencode(query)}"

    async def redeem(self, provider: str, code: ProviderCode) -> SocialIdentity | None:
        self._ensure_there(provider)
        issued = self.codes.pop(code.code, None)  # a code serves once
        if issued is None or issued.identity.provider != provider:
            return None
        asked = issued.asked
        is_answer = challenge_of(code.verifier) == asked.challenge and code.redirect_uri == asked.redirect_uri
        return issued.identity if is_answer and code.nonce == asked.nonce else None

    def _ensure_there(self, provider: str) -> None:
        if provider in self.away:
            raise ServiceUnavailable
