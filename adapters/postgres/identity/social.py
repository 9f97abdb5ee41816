"""Links between users and their identities at social providers."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from adapters.postgres.connection.connections import ServiceConnection
from application.ports.identity.accounts import LinkedProvider

_USER_OF = "SELECT user_id FROM social_identities WHERE provider = $1 AND subject = $2"
_OF_USER = "SELECT provider, linked_at FROM social_identities WHERE user_id = $1 ORDER BY linked_at, provider, subject"
_LINK = """
INSERT INTO social_identities (provider, subject, user_id, linked_at) VALUES ($1, $2, $3, $4)
ON CONFLICT DO NOTHING RETURNING true"""
_UNLINK = """
WITH gone AS (DELETE FROM social_identities WHERE user_id = $1 AND provider = $2 RETURNING 1)
SELECT count(*) > 0 FROM gone"""
_UNLINK_ALL = "DELETE FROM social_identities WHERE user_id = $1"


@dataclass(frozen=True, slots=True)
class PostgresSocialIdentities:
    connection: ServiceConnection

    async def user_of(self, provider: str, subject: str) -> UUID | None:
        user_id: UUID | None = await self.connection.fetchval(_USER_OF, provider, subject)
        return user_id

    async def of_user(self, user_id: UUID) -> list[LinkedProvider]:
        return [LinkedProvider(**row) for row in await self.connection.fetch(_OF_USER, user_id)]

    async def link(self, provider: str, subject: str, user_id: UUID, at: datetime) -> bool:
        return bool(await self.connection.fetchval(_LINK, provider, subject, user_id, at))

    async def unlink(self, user_id: UUID, provider: str) -> bool:
        return bool(await self.connection.fetchval(_UNLINK, user_id, provider))

    async def unlink_all(self, user_id: UUID) -> None:
        await self.connection.execute(_UNLINK_ALL, user_id)
