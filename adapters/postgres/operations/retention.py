"""Retention: rows past their age are deleted, the oldest first and some at a time, each kind through its own index."""

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Select, func
from sqlalchemy.dialects.postgresql import ARRAY

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.identity.listings import TABLES
from adapters.postgres.statements.compiled import CompiledStatement, compiled, constant, parameter
from domain.retention import RetentionRule

_CLAIM = "SELECT pg_try_advisory_xact_lock(hashtextextended('tenantry.housekeeping', 0))"
_BEFORE = parameter("before", sa.DateTime(timezone=True))
_MOST = parameter("most", sa.Integer())
_PLACE: ColumnElement[Any] = sa.literal_column("ctid")
_LARGEST = 9_223_372_036_854_775_807


def _removing(table: str, age: ColumnElement[Any], *conditions: ColumnElement[bool]) -> Select[int]:
    """Deletes the oldest rows whose ``age`` is at most ``before``, ``most`` of them, and answers how many there were.

    Rows that a request holds are left to the next round; the conditions are checked again under a row's lock.
    """
    oldest = sa.select(_PLACE).select_from(TABLES[table]).where(age <= _BEFORE, *conditions)
    oldest = oldest.order_by(age).limit(_MOST).with_for_update(skip_locked=True)
    places = func.array(oldest.scalar_subquery(), type_=ARRAY(sa.Text()))
    gone = sa.delete(TABLES[table]).where(sa.any_(places) == _PLACE).returning(_PLACE).cte("gone")
    return sa.select(func.count()).select_from(gone)


_SESSIONS, _ATTEMPTS, _LINKS = (TABLES[name].c for name in ("sessions", "login_attempts", "one_time_tokens"))
_INVITATIONS, _REQUESTS, _KEYS = (TABLES[name].c for name in ("invitations", "join_requests", "api_keys"))
_WAITING = TABLES["outbox"].alias("o")
# A lock in force keeps its row, however long ago the last try was.
_IS_UNLOCKED = sa.or_(_ATTEMPTS.locked_until.is_(None), _ATTEMPTS.locked_until <= _BEFORE)
# A mail that waits in the outbox since before the link would issue an older link again: the row must be there to
# refuse it.
_FIRST_WAITING = sa.select(func.coalesce(func.min(_WAITING.c.number), constant(_LARGEST))).scalar_subquery()

_REMOVED = {
    RetentionRule.ENDED_SESSIONS: _removing("sessions", _SESSIONS.ended_at),
    RetentionRule.OLD_SESSIONS: _removing("sessions", _SESSIONS.created_at),
    RetentionRule.FAILURES: _removing("login_attempts", _ATTEMPTS.tried_at, _ATTEMPTS.known_at.is_(None), _IS_UNLOCKED),
    RetentionRule.NETWORKS: _removing(
        "login_attempts", _ATTEMPTS.tried_at, _ATTEMPTS.known_at.is_not(None), _IS_UNLOCKED
    ),
    RetentionRule.VERSIONS: _removing("revocation_counts", TABLES["revocation_counts"].c.ended_at),
    RetentionRule.USED_NONCES: _removing("spent_ids", TABLES["spent_ids"].c.expires_at),
    RetentionRule.LINKS: _removing("one_time_tokens", _LINKS.expires_at, _LINKS.number < _FIRST_WAITING),
    RetentionRule.INVITATIONS: _removing("invitations", func.coalesce(_INVITATIONS.ended_at, _INVITATIONS.expires_at)),
    RetentionRule.JOIN_REQUESTS: _removing("join_requests", func.coalesce(_REQUESTS.ended_at, _REQUESTS.created_at)),
    RetentionRule.FORMER_ADDRESSES: _removing("former_addresses", TABLES["former_addresses"].c.marked_at),
    RetentionRule.EMAIL_CHANGES: _removing("email_changes", TABLES["email_changes"].c.expires_at),
    RetentionRule.ANSWERS: _removing("kept_answers", TABLES["kept_answers"].c.at),
    RetentionRule.API_KEYS: _removing("api_keys", func.least(_KEYS.ended_at, _KEYS.expires_at)),
    RetentionRule.MAILS: _removing("outbox", TABLES["outbox"].c.given_up_at),
}


@cache
def statement_of(what: RetentionRule) -> CompiledStatement:
    return compiled(_REMOVED[what])


@dataclass(frozen=True, slots=True)
class PostgresRetention:
    connection: ServiceConnection

    async def claim(self) -> bool:
        return bool(await self.connection.fetchval(_CLAIM))

    async def remove(self, what: RetentionRule, before: datetime, most: int) -> int:
        statement = statement_of(what)
        arguments = statement.arguments({"before": before, "most": most})
        gone: int = await self.connection.fetchval(statement.text, *arguments)
        return gone
