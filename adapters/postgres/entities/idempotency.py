"""Responses stored under idempotency keys, in the transaction of the write."""

from dataclasses import dataclass
from datetime import datetime

from adapters.postgres.connection.connections import ServiceConnection
from application.ports.entities.idempotency import Claim, StoredResponse
from domain.retention import KEPT_FOR

CLAIM = """
INSERT INTO kept_answers AS k (tenant_id, user_id, key, fingerprint, at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant_id, user_id, key)
DO UPDATE SET fingerprint = excluded.fingerprint, answer = NULL, at = excluded.at WHERE k.at <= $6
RETURNING true"""
"""Claims a key: waits for another transaction with this key; returns no row if a response is stored."""

FIND = "SELECT fingerprint, answer FROM kept_answers WHERE tenant_id = $1 AND user_id = $2 AND key = $3"
KEEP = "UPDATE kept_answers SET answer = $4, at = $5 WHERE tenant_id = $1 AND user_id = $2 AND key = $3"


@dataclass(frozen=True, slots=True)
class PostgresIdempotencyStore:
    connection: ServiceConnection

    async def claim(self, claim: Claim, now: datetime) -> StoredResponse | None:
        key = (claim.tenant_id, claim.user_id, claim.key)
        if await self.connection.fetchval(CLAIM, *key, claim.fingerprint, now, now - KEPT_FOR):
            return None
        row = await self.connection.fetchrow(FIND, *key)
        assert row is not None, "the row that holds the key cannot be seen"
        return StoredResponse(row["fingerprint"], row["answer"])

    async def keep(self, claim: Claim, answer: bytes, now: datetime) -> None:
        await self.connection.execute(KEEP, claim.tenant_id, claim.user_id, claim.key, answer, now)
