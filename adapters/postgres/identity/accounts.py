"""Proofs of account ownership: mailed links, credentials, used nonces, and social identities."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg
from msgspec.structs import astuple

from adapters.postgres.connection.connections import ServiceConnection
from application.ports.identity.accounts import EmailChange, LinkedProvider, OneTimeToken, Purpose
from domain.limits import LINKS_APART

# Lock the account before its tokens, so that one of two concurrent mails sees the other's token.
_LOCK = "SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE"
_ISSUE = """
INSERT INTO one_time_tokens AS t (user_id, email_key, purpose, number, hash, issued_at, expires_at)
SELECT $1, $2, $3, $4, $5, $6, $7
WHERE NOT EXISTS (
    SELECT FROM one_time_tokens WHERE user_id = $1 AND purpose = $3
    AND (number >= $4 AND used_at IS NOT NULL
         OR number <> $4 AND email_key = $2 AND issued_at > $8 AND used_at IS NULL))
ON CONFLICT (user_id, purpose, number) DO UPDATE
SET email_key = excluded.email_key, hash = excluded.hash, issued_at = excluded.issued_at,
    expires_at = excluded.expires_at
RETURNING true"""
_LIVING = """
SELECT user_id, email_key, purpose, number, hash, issued_at, expires_at FROM one_time_tokens
WHERE hash = $2 AND purpose = $1 AND used_at IS NULL AND expires_at > $3"""
_SPEND = """
UPDATE one_time_tokens SET used_at = $3
WHERE hash = $2 AND purpose = $1 AND used_at IS NULL AND expires_at > $3 RETURNING true"""
_FORGET = """
UPDATE one_time_tokens SET used_at = $3 WHERE user_id = $1 AND purpose = ANY ($2) AND used_at IS NULL"""
_SET_HASH = """
UPDATE users SET password_hash = $2, password_set_at = $3, must_change_password = false, updated_at = $3
WHERE id = $1"""
# Every CTE sees the account before the change, without a proof.
_CONFIRM_EMAIL = """
WITH proved AS (
    UPDATE users SET email_confirmed = true, email_proved = true, updated_at = $3,
        email_proved_at = CASE WHEN email_proved THEN email_proved_at ELSE $3 END
    WHERE id = $1 AND email_key = $2 RETURNING id),
unlinked AS (
    DELETE FROM social_identities
    WHERE user_id IN (SELECT id FROM proved) AND EXISTS (SELECT FROM users WHERE id = $1 AND NOT email_proved))
SELECT true FROM proved"""
_END_PASSKEY_LOGINS = """
WITH ended AS (
    UPDATE factors SET uv_initialized = false
    WHERE user_id = $1 AND uv_initialized AND ($2::timestamptz IS NULL OR created_at < $2) RETURNING 1)
SELECT count(*) FROM ended"""
_CHANGE_OF_USER = """
SELECT user_id, email, email_key, hash, requested_at, expires_at, mailed_at FROM email_changes WHERE user_id = $1"""
_CHANGE_BY_HASH = """
SELECT user_id, email, email_key, hash, requested_at, expires_at, mailed_at FROM email_changes
WHERE hash = $1 AND expires_at > $2"""
_SAVE_CHANGE = """
INSERT INTO email_changes (user_id, email, email_key, hash, requested_at, expires_at, mailed_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (user_id) DO UPDATE
SET email = excluded.email, email_key = excluded.email_key, hash = excluded.hash,
    requested_at = excluded.requested_at, expires_at = excluded.expires_at, mailed_at = excluded.mailed_at"""
# Retain the row until it expires, because it counts towards the daily mails. 'ended:' matches no secret, because no
# hash has a colon.
_END_CHANGE = """
UPDATE email_changes SET email = '', email_key = '', hash = 'ended:' || user_id
WHERE user_id = $1 AND email <> '' RETURNING true"""
# The condition must equal that of the partial index ix_users_imported; the prefix is FOREIGN.
_ANY_IMPORTED = "SELECT EXISTS (SELECT FROM users WHERE password_hash LIKE 'foreign:%')"
_USER_OF = "SELECT user_id FROM social_identities WHERE provider = $1 AND subject = $2"
_OF_USER = "SELECT provider, linked_at FROM social_identities WHERE user_id = $1 ORDER BY linked_at, provider, subject"
_LINK = """
INSERT INTO social_identities (provider, subject, user_id, linked_at) VALUES ($1, $2, $3, $4)
ON CONFLICT DO NOTHING RETURNING true"""
_UNLINK = """
WITH gone AS (DELETE FROM social_identities WHERE user_id = $1 AND provider = $2 RETURNING 1)
SELECT count(*) > 0 FROM gone"""
_UNLINK_ALL = "DELETE FROM social_identities WHERE user_id = $1"


@dataclass(frozen=True, slots=True)
class PostgresOneTimeTokens:
    connection: ServiceConnection

    async def issue(self, token: OneTimeToken) -> bool:
        await self.connection.execute(_LOCK, token.user_id)
        return bool(await self.connection.fetchval(_ISSUE, *astuple(token), token.issued_at - LINKS_APART))

    async def living(self, purpose: Purpose, token_hash: str, now: datetime) -> OneTimeToken | None:
        row = await self.connection.fetchrow(_LIVING, purpose, token_hash, now)
        return None if row is None else OneTimeToken(**row)

    async def consume(self, purpose: Purpose, token_hash: str, now: datetime) -> bool:
        return bool(await self.connection.fetchval(_SPEND, purpose, token_hash, now))

    async def forget(self, user_id: UUID, purposes: Sequence[Purpose], at: datetime) -> None:
        await self.connection.execute(_FORGET, user_id, list(purposes), at)


@dataclass(frozen=True, slots=True)
class PostgresEmailChanges:
    connection: ServiceConnection

    async def of_user(self, user_id: UUID) -> EmailChange | None:
        return _change(await self.connection.fetchrow(_CHANGE_OF_USER, user_id))

    async def by_hash(self, hashed: str, now: datetime) -> EmailChange | None:
        return _change(await self.connection.fetchrow(_CHANGE_BY_HASH, hashed, now))

    async def save(self, change: EmailChange) -> None:
        await self.connection.execute(_SAVE_CHANGE, *astuple(change))

    async def end(self, user_id: UUID) -> bool:
        return bool(await self.connection.fetchval(_END_CHANGE, user_id))


def _change(row: asyncpg.Record | None) -> EmailChange | None:
    return None if row is None else EmailChange(**{**row, "mailed_at": tuple(row["mailed_at"])})


@dataclass(frozen=True, slots=True)
class PostgresCredentials:
    connection: ServiceConnection

    async def set_password(self, user_id: UUID, password_hash: str, at: datetime) -> None:
        await self.connection.execute(_SET_HASH, user_id, password_hash, at)

    async def confirm_email(self, user_id: UUID, email_key: str, at: datetime) -> bool:
        return bool(await self.connection.fetchval(_CONFIRM_EMAIL, user_id, email_key, at))

    async def end_passkey_logins(self, user_id: UUID, before: datetime | None) -> int:
        return int(await self.connection.fetchval(_END_PASSKEY_LOGINS, user_id, before))


@dataclass(frozen=True, slots=True)
class PostgresImportedHashes:
    connection: ServiceConnection

    async def any_left(self) -> bool:
        return bool(await self.connection.fetchval(_ANY_IMPORTED))


# An expired nonce may be reused: its protected data has expired too.
_CONSUME_NONCE = """
INSERT INTO spent_ids AS s (id, expires_at) VALUES ($1, $2)
ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at WHERE s.expires_at <= $3
RETURNING true"""


@dataclass(frozen=True, slots=True)
class PostgresUsedNonces:
    connection: ServiceConnection

    async def consume(self, nonce: str, until: datetime, now: datetime) -> bool:
        return bool(await self.connection.fetchval(_CONSUME_NONCE, nonce, until, now))


@dataclass(frozen=True, slots=True)
class PostgresSocialIdentities:
    connection: ServiceConnection

    async def user_of(self, provider: str, subject: str) -> UUID | None:
        user_id: UUID | None = await self.connection.fetchval(_USER_OF, provider, subject)
        return user_id

    async def of_user(self, user_id: UUID) -> list[LinkedProvider]:
        return [LinkedProvider(**row) for row in await self.connection.fetch(_OF_USER, user_id)]

    async def link(self, provider: str, subject: str, user_id: UUID, at: datetime) -> bool:
        return bool(await self.connection.fetchval(_LINK, provider, subject, user_id, at))

    async def unlink(self, user_id: UUID, provider: str) -> bool:
        return bool(await self.connection.fetchval(_UNLINK, user_id, provider))

    async def unlink_all(self, user_id: UUID) -> None:
        await self.connection.execute(_UNLINK_ALL, user_id)
