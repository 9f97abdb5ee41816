"""Links of social identities to users, and providers with the tokens that a test gives them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from adapters.memory.store import Access, LinkedIdentity
from application.ports.identity.accounts import LinkedProvider, SocialIdentity
from domain.errors import ServiceUnavailable


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

    async def unlink_all(self, user_id: UUID) -> None:
        async with self.access.write() as store:
            store.social = {key: linked for key, linked in store.social.items() if linked.user_id != user_id}


@dataclass(frozen=True)
class MemorySocialProviders:
    """Providers that know ``tokens`` and the identity of each; those in ``away`` raise ServiceUnavailable."""

    names: Collection[str]
    tokens: Mapping[str, SocialIdentity] = field(default_factory=dict)
    away: Collection[str] = ()

    async def identify(self, provider: str, access_token: str) -> SocialIdentity | None:
        if provider in self.away:
            raise ServiceUnavailable
        found = self.tokens.get(access_token)
        return found if found is not None and found.provider == provider else None
