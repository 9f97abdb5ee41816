"""Retention: rows past their age are deleted, the oldest first and some at a time, each kind through its own index.

``$1`` is the moment up to which rows are deleted, ``$2`` how many at most. SKIP LOCKED leaves rows that a request
holds to the next round; the conditions are checked again under the row's lock.
"""

from dataclasses import dataclass
from datetime import datetime

from adapters.postgres.connection.connections import ServiceConnection
from domain.retention import RetentionRule

_CLAIM = "SELECT pg_try_advisory_xact_lock(hashtextextended('tenantry.housekeeping', 0))"

STATEMENTS = {
    RetentionRule.ENDED_SESSIONS: """
        WITH gone AS (
            DELETE FROM sessions WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM sessions WHERE ended_at <= $1
                ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED))
            RETURNING 1)
        SELECT count(*) FROM gone""",
    RetentionRule.OLD_SESSIONS: """
        WITH gone AS (
            DELETE FROM sessions WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM sessions WHERE created_at <= $1
                ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED))
            RETURNING 1)
        SELECT count(*) FROM gone""",
    # A lock in force keeps its row, however long ago the last try was.
    RetentionRule.FAILURES: """
        WITH gone AS (
            DELETE FROM login_attempts WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM login_attempts
                WHERE tried_at <= $1 AND known_at IS NULL AND (locked_until IS NULL OR locked_until <= $1)
                ORDER BY tried_at LIMIT $2 FOR UPDATE SKIP LOCKED))
            RETURNING 1)
        SELECT count(*) FROM gone""",
    RetentionRule.NETWORKS: """
        WITH gone AS (
            DELETE FROM login_attempts WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM login_attempts
                WHERE tried_at <= $1 AND known_at IS NOT NULL AND (locked_until IS NULL OR locked_until <= $1)
                ORDER BY tried_at LIMIT $2 FOR UPDATE SKIP LOCKED))
            RETURNING 1)
        SELECT count(*) FROM gone""",
    RetentionRule.VERSIONS: """
        WITH gone AS (
            DELETE FROM revocation_counts WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM revocation_counts WHERE ended_at <= $1
                ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED))
            RETURNING 1)
        SELECT count(*) FROM gone""",
    RetentionRule.USED_NONCES: """
        WITH gone AS (
            DELETE FROM spent_ids WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM spent_ids WHERE expires_at <= $1
                ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))
            RETURNING 1)
        SELECT count(*) FROM gone""",
    # A mail that waits in the outbox since before the link would issue an older link again: the row must be there
    # to refuse it. 9223372036854775807 is the largest bigint, for an empty outbox.
    RetentionRule.LINKS: """
        WITH gone AS (
            DELETE FROM one_time_tokens WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM one_time_tokens
                WHERE expires_at <= $1 AND number < (SELECT coalesce(min(o.number), 9223372036854775807) FROM outbox o)
                ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))
            RETURNING 1)
        SELECT count(*) FROM gone""",
    RetentionRule.INVITATIONS: """
        WITH gone AS (
            DELETE FROM invitations WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM invitations WHERE coalesce(ended_at, expires_at) <= $1
                ORDER BY coalesce(ended_at, expires_at) LIMIT $2 FOR UPDATE SKIP LOCKED))
            RETURNING 1)
        SELECT count(*) FROM gone""",
    RetentionRule.JOIN_REQUESTS: """
        WITH gone AS (
            DELETE FROM join_requests WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM join_requests WHERE coalesce(ended_at, created_at) <= $1
                ORDER BY coalesce(ended_at, created_at) LIMIT $2 FOR UPDATE SKIP LOCKED))
            RETURNING 1)
        SELECT count(*) FROM gone""",
    RetentionRule.EMAIL_CHANGES: """
        WITH gone AS (
            DELETE FROM email_changes WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM email_changes WHERE expires_at <= $1
                ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))
            RETURNING 1)
        SELECT count(*) FROM gone""",
    RetentionRule.ANSWERS: """
        WITH gone AS (
            DELETE FROM kept_answers WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM kept_answers WHERE at <= $1
                ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED))
            RETURNING 1)
        SELECT count(*) FROM gone""",
    RetentionRule.API_KEYS: """
        WITH gone AS (
            DELETE FROM api_keys WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM api_keys WHERE LEAST(ended_at, expires_at) <= $1
                ORDER BY LEAST(ended_at, expires_at) LIMIT $2 FOR UPDATE SKIP LOCKED))
            RETURNING 1)
        SELECT count(*) FROM gone""",
    RetentionRule.MAILS: """
        WITH gone AS (
            DELETE FROM outbox WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM outbox WHERE given_up_at <= $1
                ORDER BY given_up_at LIMIT $2 FOR UPDATE SKIP LOCKED))
            RETURNING 1)
        SELECT count(*) FROM gone""",
}


@dataclass(frozen=True, slots=True)
class PostgresRetention:
    connection: ServiceConnection

    async def claim(self) -> bool:
        return bool(await self.connection.fetchval(_CLAIM))

    async def remove(self, what: RetentionRule, before: datetime, most: int) -> int:
        gone: int = await self.connection.fetchval(STATEMENTS[what], before, most)
        return gone
