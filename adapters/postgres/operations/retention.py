"""What is kept only for a while, taken away by its age: each kind by an index of its own."""

from dataclasses import dataclass
from datetime import datetime

from adapters.postgres.connection.connections import ServiceConnection
from domain.retention import RetentionRule

_CLAIM = "SELECT pg_try_advisory_xact_lock(hashtextextended('tenantry.housekeeping', 0))"


def _remove(table: str, age: str, condition: str = "true") -> str:
    """The oldest first; ``age`` is the column, ``condition`` what else must hold, looked at under the row's lock."""
    return f"""
WITH gone AS (
    DELETE FROM {table} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM {table} WHERE {age} <= $1 AND {condition}
        ORDER BY {age} LIMIT $2 FOR UPDATE SKIP LOCKED))
    RETURNING 1)
SELECT count(*) FROM gone"""


_UNLOCKED = "(locked_until IS NULL OR locked_until <= $1)"
_NO_OLDER_MAIL = "number < (SELECT coalesce(min(o.number), 9223372036854775807) FROM outbox o)"

STATEMENTS = {
    RetentionRule.ENDED_SESSIONS: _remove("sessions", "ended_at"),
    RetentionRule.OLD_SESSIONS: _remove("sessions", "created_at"),
    RetentionRule.FAILURES: _remove("login_attempts", "tried_at", f"known_at IS NULL AND {_UNLOCKED}"),
    RetentionRule.NETWORKS: _remove("login_attempts", "tried_at", f"known_at IS NOT NULL AND {_UNLOCKED}"),
    RetentionRule.COUNTS: _remove("revocation_counts", "ended_at"),
    RetentionRule.SPENT_IDS: _remove("spent_ids", "expires_at"),
    RetentionRule.LINKS: _remove("one_time_tokens", "expires_at", _NO_OLDER_MAIL),
    RetentionRule.ANSWERS: _remove("kept_answers", "at"),
    RetentionRule.MAILS: _remove("outbox", "given_up_at"),
}


@dataclass(frozen=True, slots=True)
class PostgresRetention:
    connection: ServiceConnection

    async def claim(self) -> bool:
        return bool(await self.connection.fetchval(_CLAIM))

    async def remove(self, what: RetentionRule, before: datetime, most: int) -> int:
        gone: int = await self.connection.fetchval(STATEMENTS[what], before, most)
        return gone
