"""Sessions: one row each, whatever their age."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec.structs import astuple

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.identity import account_states
from adapters.postgres.identity.attempts import forgiving
from application.ports.clock import Ids
from application.ports.identity.sessions import NewLogin
from domain.audit import AuditEvent
from domain.identity.sessions import Lifetimes, Session
from domain.identity.users import AccountState
from domain.scope import SYSTEM_TENANT_ID

COLUMNS = Session.__struct_fields__
_LISTED = ", ".join(COLUMNS)
_LINE = ("tenant_id", "id", *AuditEvent.__struct_fields__)


def _numbered(first: int, count: int) -> str:
    return ", ".join(f"${n}" for n in range(first, first + count))


_BEGIN = f"""
WITH entered AS (
    UPDATE users SET last_login_at = $2, password_hash = CASE WHEN password_hash = $3 THEN $4 ELSE password_hash END
    WHERE id = $1 AND CASE WHEN $5 THEN password_set_at IS NOT DISTINCT FROM $6 ELSE email_proved = $7 END
    RETURNING true),
{forgiving("$8", "$9", "$2", "EXISTS (SELECT FROM entered)")},
begun AS (
    INSERT INTO sessions ({_LISTED}) SELECT {_numbered(10, len(COLUMNS))} FROM entered),
noted AS (
    INSERT INTO audit_events ({", ".join(_LINE)}) SELECT {_numbered(10 + len(COLUMNS), len(_LINE))} FROM entered)
SELECT true FROM entered"""
_ROTATE = """
UPDATE sessions SET counter = $3, tenant_id = $4, rotated_at = $5
WHERE id = $1 AND counter = $2 AND ended_at IS NULL RETURNING true"""
_END = "UPDATE sessions SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL RETURNING true"
_WITH_STANDING = f"SELECT {_LISTED}, {account_states.OF_SESSION} AS state FROM sessions WHERE id = $1"
_LIVING = f"""
SELECT {_LISTED} FROM sessions
WHERE user_id = $1 AND ended_at IS NULL AND rotated_at > $2 AND created_at > $3
AND (tenant_id IS NOT NULL OR created_at > $4) ORDER BY rotated_at DESC, id DESC"""


@dataclass(frozen=True, slots=True)
class PostgresSessions:
    connection: ServiceConnection
    ids: Ids

    async def by_id(self, session_id: UUID) -> Session | None:
        row = await self.connection.fetchrow(f"SELECT {_LISTED} FROM sessions WHERE id = $1", session_id)
        return None if row is None else Session(**row)

    async def with_account_state(self, session_id: UUID) -> tuple[Session, AccountState] | None:
        row = await self.connection.fetchrow(_WITH_STANDING, session_id)
        if row is None:
            return None
        *columns, state = row.values()
        return Session(**dict(zip(COLUMNS, columns, strict=True))), account_states.decode(state)

    async def begin(self, entry: NewLogin) -> bool:
        """In one statement. The account is locked first, as by all that changes one."""
        verified, session = entry.verified, entry.session
        user = verified.state.user
        hashes = astuple(verified.renewed) if verified.renewed else (None, None)
        proof = (verified.by_password, user.password_set_at, user.email_proved)
        return bool(
            await self.connection.fetchval(
                _BEGIN,
                *(user.id, session.created_at, *hashes, *proof, user.email_key, entry.forgiven),
                *astuple(session),
                *(session.tenant_id or SYSTEM_TENANT_ID, self.ids.new(), *astuple(entry.line)),
            )
        )

    async def rotate(self, session: Session, seen: int) -> bool:
        return bool(
            await self.connection.fetchval(
                _ROTATE, session.id, seen, session.counter, session.tenant_id, session.rotated_at
            )
        )

    async def end(self, session_id: UUID, at: datetime) -> bool:
        return bool(await self.connection.fetchval(_END, session_id, at))

    async def living(self, user_id: UUID, now: datetime, lifetimes: Lifetimes) -> list[Session]:
        """What domain/identity/sessions.py calls expired."""
        since = (now - lifetimes.unused, now - lifetimes.session, now - lifetimes.selection)
        return [Session(**row) for row in await self.connection.fetch(_LIVING, user_id, *since)]
