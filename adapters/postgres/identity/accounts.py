"""One-time tokens, and what proving an account changes of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from adapters.postgres.connection.connections import ServiceConnection
from application.ports.identity.accounts import OneTimeToken, Purpose

COLUMNS = OneTimeToken.__struct_fields__
_LISTED = ", ".join(COLUMNS)
_ISSUE = f"""
INSERT INTO one_time_tokens AS t ({_LISTED}) VALUES ({", ".join(f"${n + 1}" for n in range(len(COLUMNS)))})
ON CONFLICT (user_id, purpose) DO UPDATE
SET {", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name not in ("user_id", "purpose"))}, used_at = NULL
WHERE t.number < excluded.number OR (t.number = excluded.number AND t.used_at IS NULL)
RETURNING true"""
_LIVING = f"""
SELECT {_LISTED} FROM one_time_tokens
WHERE hash = $2 AND purpose = $1 AND used_at IS NULL AND expires_at > $3"""
_SPEND = """
UPDATE one_time_tokens SET used_at = $3
WHERE hash = $2 AND purpose = $1 AND used_at IS NULL AND expires_at > $3 RETURNING true"""
_FORGET = """
UPDATE one_time_tokens SET used_at = $3 WHERE user_id = $1 AND purpose = ANY ($2) AND used_at IS NULL"""
_CHANGE = """
UPDATE users SET password_hash = $2, password_set_at = $3, must_change_password = false, updated_at = $3
WHERE id = $1"""
_CONFIRM_EMAIL = """
UPDATE users SET email_confirmed = true, email_proved = true, updated_at = $3
WHERE id = $1 AND email_key = $2 RETURNING true"""


@dataclass(frozen=True, slots=True)
class PostgresOneTimeTokens:
    connection: ServiceConnection

    async def issue(self, token: OneTimeToken) -> bool:
        return bool(await self.connection.fetchval(_ISSUE, *(getattr(token, name) for name in COLUMNS)))

    async def living(self, purpose: Purpose, token_hash: str, now: datetime) -> OneTimeToken | None:
        row = await self.connection.fetchrow(_LIVING, purpose, token_hash, now)
        return None if row is None else OneTimeToken(**row)

    async def spend(self, purpose: Purpose, token_hash: str, now: datetime) -> bool:
        return bool(await self.connection.fetchval(_SPEND, purpose, token_hash, now))

    async def forget(self, user_id: UUID, purposes: Sequence[Purpose], at: datetime) -> None:
        await self.connection.execute(_FORGET, user_id, list(purposes), at)


@dataclass(frozen=True, slots=True)
class PostgresCredentials:
    connection: ServiceConnection

    async def set_password(self, user_id: UUID, password_hash: str, at: datetime) -> None:
        await self.connection.execute(_CHANGE, user_id, password_hash, at)

    async def confirm_email(self, user_id: UUID, email_key: str, at: datetime) -> bool:
        return bool(await self.connection.fetchval(_CONFIRM_EMAIL, user_id, email_key, at))
