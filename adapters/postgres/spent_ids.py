"""Ids that may be used once."""

from dataclasses import dataclass
from datetime import datetime

from adapters.postgres.connections import ServiceConnection

_SPEND = """
WITH gone AS (
    DELETE FROM spent_ids WHERE id IN (
        SELECT id FROM spent_ids WHERE expires_at <= $3 AND id <> $1
        ORDER BY expires_at LIMIT 20 FOR UPDATE SKIP LOCKED))
INSERT INTO spent_ids AS s (id, expires_at) VALUES ($1, $2)
ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at WHERE s.expires_at <= $3
RETURNING true"""
"""Takes a few that have ended with it, so that the table does not grow."""


@dataclass(frozen=True, slots=True)
class PostgresSpentIds:
    connection: ServiceConnection

    async def spend(self, spent_id: str, until: datetime, now: datetime) -> bool:
        return bool(await self.connection.fetchval(_SPEND, spent_id, until, now))
