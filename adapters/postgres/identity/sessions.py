"""Sessions: one row each, updated at every refresh."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg
from msgspec.structs import astuple

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.identity.account_states import ACCOUNT_STATE, decode_session, decode_state
from application.ports.database import Mail
from application.ports.runtime import Ids
from domain.identity.logins import Login
from domain.identity.tokens import Lifetimes, Session
from domain.identity.users import AccountState
from domain.lockout import NETWORK_FORGOTTEN
from domain.scope import SYSTEM_TENANT_ID, AuditEvent

# `entered` locks the account first, like every statement that changes an account. The next three CTEs reset the failed
# logins like _FORGIVE (attempts.py), after the account lock because `before` reads `entered`. $1-$9 are the login,
# $10-$22 the session, $23-$30 the audit trail entry, $31-$36 the notice of a new device, $37 since when a network is
# known, $38 the notice's language. SESSIONS_AT_MOST is a literal: with an argument, a cached plan would expect a tenth
# of the sessions, and PostgreSQL would plan each login again.
_BEGIN = """
WITH entered AS (
    UPDATE users SET last_login_at = $2, password_hash = CASE WHEN password_hash = $3 THEN $4 ELSE password_hash END
    WHERE id = $1 AND is_active AND CASE WHEN $5 THEN password_set_at IS NOT DISTINCT FROM $6 ELSE email_proved = $7 END
    RETURNING true),
before AS (
    SELECT failures FROM login_attempts
    WHERE email_key = $8 AND network = $9 AND EXISTS (SELECT FROM entered) FOR UPDATE),
own AS (
    UPDATE login_attempts SET failures = 0, locks = 0, locked_until = NULL, known_at = $2
    WHERE email_key = $8 AND network = $9 AND EXISTS (SELECT FROM before)),
together AS (
    UPDATE login_attempts SET failures = greatest(0, login_attempts.failures - before.failures),
        locked_until = CASE WHEN login_attempts.failures - before.failures >= locks_at THEN locked_until END,
        locks = greatest(0, locks - (
            locked_until IS NOT NULL AND login_attempts.failures - before.failures < locks_at)::int)
    FROM before WHERE email_key = $8 AND network = ''),
begun AS (
    INSERT INTO sessions (
        id, user_id, tenant_id, counter, created_at, rotated_at, ended_at, app_id, address, device, methods,
        authenticated_at, is_first_login)
    SELECT $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22 FROM entered),
noted AS (
    INSERT INTO audit_events (
        tenant_id, id, actor_id, action, target_id, address, request_id, occurred_at)
    SELECT $23, $24, $25, $26, $27, $28, $29, $30 FROM entered),
ended AS (
    UPDATE sessions SET ended_at = $2 WHERE EXISTS (SELECT FROM entered) AND id IN (
        SELECT id FROM sessions WHERE user_id = $1 AND ended_at IS NULL
        ORDER BY rotated_at DESC, id DESC OFFSET 99)
    RETURNING id),
told AS (
    INSERT INTO outbox (id, kind, recipient, name, address, at, due_at, about, language)
    SELECT $31, $32, $33, $34, $35, $36, $36, '', $38 FROM entered WHERE $31::uuid IS NOT NULL
    AND NOT EXISTS (
        SELECT FROM sessions WHERE user_id = $1 AND (device = $19 OR $9::text IS NULL AND address = $18))
    AND NOT EXISTS (SELECT FROM login_attempts WHERE email_key = $8 AND network = $9 AND known_at > $37))
SELECT ARRAY(SELECT id FROM ended) FROM entered"""
_BY_ID = """
SELECT id, user_id, tenant_id, counter, created_at, rotated_at, ended_at, app_id, address, device, methods,
    authenticated_at, is_first_login
FROM sessions WHERE id = $1"""
# `counter = $2`: of two concurrent refreshes with one token, the second finds no row to update.
_ROTATE = """
UPDATE sessions SET counter = $3, tenant_id = $4, rotated_at = $5, methods = $6, authenticated_at = $7
WHERE id = $1 AND counter = $2 AND ended_at IS NULL RETURNING true"""
_END = "UPDATE sessions SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL RETURNING true"
_KEEP_OUT = "UPDATE memberships SET sessions_ended_at = $3 WHERE user_id = $1 AND tenant_id = $2"
_LIVING = """
SELECT id, user_id, tenant_id, counter, created_at, rotated_at, ended_at, app_id, address, device, methods,
    authenticated_at, is_first_login
FROM sessions
WHERE user_id = $1 AND ended_at IS NULL AND rotated_at > $2 AND created_at > $3
AND (tenant_id IS NOT NULL OR created_at > $4) ORDER BY rotated_at DESC, id DESC"""


def _columns(notice: Mail | None) -> Sequence[object]:
    """Return the columns of the notice; a login stores no other fields of the mail."""
    if notice is None:
        return (None,) * 6
    return notice.id, notice.kind, notice.recipient, notice.name, notice.address, notice.at


@dataclass(frozen=True, slots=True)
class PostgresSessions:
    connection: ServiceConnection
    ids: Ids

    async def by_id(self, session_id: UUID) -> Session | None:
        row = await self.connection.fetchrow(_BY_ID, session_id)
        return None if row is None else _session(row)

    async def with_account_state(self, session_id: UUID) -> tuple[Session, AccountState] | None:
        row = await self.connection.fetchrow(ACCOUNT_STATE, None, None, session_id)
        return None if row is None else (decode_session(row["session"]), decode_state(row["state"]))

    async def begin(
        self, login: Login, line: AuditEvent, *, forgiven: str | None = None, notice: Mail | None = None
    ) -> list[UUID] | None:
        """Store the session, its audit entry and the reset of failed logins in one statement."""
        user, session = login.state.user, login.session
        assert session is not None
        hashes = astuple(login.renewed) if login.renewed else (None, None)
        proof = (login.by_password, user.password_set_at, user.email_proved)
        ended: list[UUID] | None = await self.connection.fetchval(
            _BEGIN,
            *(user.id, session.created_at, *hashes, *proof, user.email_key, forgiven),
            *astuple(session),
            *(session.tenant_id or SYSTEM_TENANT_ID, self.ids.new(), *astuple(line)),
            *_columns(notice),
            session.created_at - NETWORK_FORGOTTEN,
            notice.language if notice else None,
        )
        return ended

    async def rotate(self, session: Session, seen: int) -> bool:
        return bool(
            await self.connection.fetchval(
                _ROTATE,
                *(session.id, seen, session.counter, session.tenant_id, session.rotated_at),
                *(session.methods, session.authenticated_at),
            )
        )

    async def end(self, session_id: UUID, at: datetime) -> bool:
        return bool(await self.connection.fetchval(_END, session_id, at))

    async def keep_out(self, user_id: UUID, tenant_id: UUID, at: datetime) -> None:
        await self.connection.execute(_KEEP_OUT, user_id, tenant_id, at)

    async def living(self, user_id: UUID, now: datetime, lifetimes: Lifetimes) -> list[Session]:
        """Return the sessions that have neither ended nor expired (see domain/identity/tokens.py), last used first."""
        since = (now - lifetimes.unused, now - lifetimes.session, now - lifetimes.selection)
        return [_session(row) for row in await self.connection.fetch(_LIVING, user_id, *since)]


def _session(row: asyncpg.Record) -> Session:
    return Session(**{**row, "methods": tuple(row["methods"])})
