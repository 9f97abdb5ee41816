"""Nonces of encrypted passwords, each accepted once."""

from dataclasses import dataclass
from datetime import datetime

from adapters.postgres.connection.connections import ServiceConnection

# An expired nonce may be used again: what it protected against replay has ended with it.
_CONSUME = """
INSERT INTO spent_ids AS s (id, expires_at) VALUES ($1, $2)
ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at WHERE s.expires_at <= $3
RETURNING true"""


@dataclass(frozen=True, slots=True)
class PostgresUsedNonces:
    connection: ServiceConnection

    async def consume(self, nonce: str, until: datetime, now: datetime) -> bool:
        return bool(await self.connection.fetchval(_CONSUME, nonce, until, now))
