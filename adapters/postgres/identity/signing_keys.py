"""The service's keys. The adapter stores only encrypted private keys and never sees their plaintext."""

from dataclasses import dataclass
from uuid import UUID

from msgspec.structs import astuple

from adapters.postgres.connection.connections import ServiceConnection
from application.ports.identity.signing_keys import StoredSecret
from domain.identity.signing_keys import SigningKey

_ALL = "SELECT kid, public, sealed, active_from, purpose FROM signing_keys ORDER BY active_from, kid"
_ADD = "INSERT INTO signing_keys (kid, public, sealed, active_from, purpose) VALUES ($1, $2, $3, $4, $5)"
_RESEAL = "UPDATE signing_keys SET sealed = $2 WHERE kid = $1"
# If processes start together, the unique index accepts only one first key.
_ADD_FIRST = """
INSERT INTO signing_keys (kid, public, sealed, active_from, purpose, is_first)
SELECT $1, $2, $3, $4, $5, true WHERE NOT EXISTS (SELECT FROM signing_keys WHERE purpose = $5)
ON CONFLICT (purpose) WHERE is_first DO NOTHING RETURNING true"""

_SECRETS_AFTER = """
SELECT id, user_id, sealed FROM factors WHERE sealed IS NOT NULL AND ($1::uuid IS NULL OR id > $1)
ORDER BY id LIMIT $2"""
_RESEAL_STORED = "UPDATE factors SET sealed = $3 WHERE id = $1 AND sealed = $2 RETURNING true"


@dataclass(frozen=True, slots=True)
class PostgresSigningKeys:
    connection: ServiceConnection

    async def all(self) -> list[SigningKey]:
        return [SigningKey(**row) for row in await self.connection.fetch(_ALL)]

    async def add_first(self, key: SigningKey) -> bool:
        return bool(await self.connection.fetchval(_ADD_FIRST, *astuple(key)))

    async def add(self, key: SigningKey) -> None:
        await self.connection.execute(_ADD, *astuple(key))

    async def reseal(self, key: SigningKey) -> None:
        await self.connection.execute(_RESEAL, key.kid, key.sealed)


@dataclass(frozen=True, slots=True)
class PostgresStoredSecrets:
    connection: ServiceConnection

    async def after(self, last: UUID | None, most: int) -> list[StoredSecret]:
        return [StoredSecret(**row) for row in await self.connection.fetch(_SECRETS_AFTER, last, most)]

    async def reseal(self, secret: StoredSecret, sealed: str) -> bool:
        return bool(await self.connection.fetchval(_RESEAL_STORED, secret.id, secret.sealed, sealed))
