"""API keys, found by the SHA-256 of their text."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg
import msgspec

from adapters.postgres.connection.connections import ServiceConnection
from application.ports.identity.service_accounts import KeyUse
from domain.identity.service_accounts import ApiKey, KeyState

_LOCK = "SELECT FROM service_accounts WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE"
_LIVING = """
SELECT id, tenant_id, account_id, name, start, permissions, networks::text[] AS networks, created_at, created_by,
    expires_at, ended_at, last_used_at, last_used_address
FROM api_keys
WHERE tenant_id = $1 AND account_id = $2
AND (ended_at IS NULL OR ended_at > $3) AND (expires_at IS NULL OR expires_at > $3) ORDER BY created_at, id"""
_ADD = """
INSERT INTO api_keys (
    id, tenant_id, account_id, name, start, hash, permissions, networks, created_at, created_by, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text[]::cidr[], $9, $10, $11)"""
# Only shorten the lifetime: an ended key never becomes valid again.
_END = """
UPDATE api_keys SET ended_at = $2
WHERE id = $1 AND (ended_at IS NULL OR ended_at > $2) AND (expires_at IS NULL OR expires_at > $2) RETURNING true"""
# PostgreSQL writes JSON, and msgspec decodes it directly into domain structs. One statement is one snapshot, so the
# token versions match the roles.
KEY_STATE = """
SELECT row_to_json(state) AS state FROM (
    SELECT (
        SELECT row_to_json(o) FROM (
            SELECT k.id, k.tenant_id AS "tenantId", k.account_id AS "accountId", k.name, k.start, k.permissions,
                k.networks, k.created_at AS "createdAt", k.created_by AS "createdBy", k.expires_at AS "expiresAt",
                k.ended_at AS "endedAt", k.last_used_at AS "lastUsedAt",
                k.last_used_address AS "lastUsedAddress") o
    ) AS key, (
        SELECT row_to_json(o) FROM (
            SELECT a.id, a.tenant_id AS "tenantId", a.name, a.description, a.is_active AS "isActive",
                a.created_at AS "createdAt", a.created_by AS "createdBy", (
                    SELECT coalesce(json_agg(row_to_json(r) ORDER BY r.name, r.id), '[]') FROM (
                        SELECT r.id, r.tenant_id AS "tenantId", r.name, r.description, r.permissions
                        FROM service_account_roles h JOIN roles r ON r.id = h.role_id
                        WHERE h.tenant_id = a.tenant_id AND h.account_id = a.id) r) AS roles) o
    ) AS account, t.is_active AND t.deleted_at IS NULL AS "tenantIsActive", (
        SELECT coalesce(json_object_agg(c.subject, c.count), '{}') FROM revocation_counts c
        WHERE c.subject = ANY (ARRAY(
            SELECT unnest(ARRAY['user:' || a.id, 'grants:' || a.id, 'tenant:' || a.tenant_id])
            UNION ALL SELECT 'role:' || h.role_id FROM service_account_roles h
            WHERE h.tenant_id = a.tenant_id AND h.account_id = a.id))
    ) AS "tokenVersions"
    FROM api_keys k
    JOIN service_accounts a ON a.tenant_id = k.tenant_id AND a.id = k.account_id AND a.deleted_at IS NULL
    JOIN tenants t ON t.id = k.tenant_id
    WHERE k.hash = $1) state"""
_NOTE_USES = """
UPDATE api_keys k SET last_used_at = u.at, last_used_address = u.address
FROM unnest($1::uuid[], $2::timestamptz[], $3::text[]) u (id, at, address)
WHERE k.id = u.id AND (k.last_used_at IS NULL OR k.last_used_at < u.at)"""
_TAKE_EXPIRING = """
UPDATE api_keys SET warned_at = $1
WHERE id = ANY (ARRAY(
    SELECT id FROM api_keys
    WHERE warned_at IS NULL AND expires_at > $1 AND expires_at <= $2 AND ended_at IS NULL
    ORDER BY expires_at, id LIMIT $3 FOR UPDATE SKIP LOCKED))
RETURNING id, tenant_id, account_id, name, start, permissions, networks::text[] AS networks, created_at, created_by,
    expires_at, ended_at, last_used_at, last_used_address"""

_state_decoder = msgspec.json.Decoder(KeyState)


@dataclass(frozen=True, slots=True)
class PostgresApiKeys:
    connection: ServiceConnection

    async def lock(self, tenant_id: UUID, account_id: UUID, now: datetime) -> int:
        # Lock first: the next statement's snapshot begins after the lock.
        await self.connection.execute(_LOCK, tenant_id, account_id)
        return len(await self.of_account(tenant_id, account_id, now))

    async def of_account(self, tenant_id: UUID, account_id: UUID, now: datetime) -> list[ApiKey]:
        return [_key(row) for row in await self.connection.fetch(_LIVING, tenant_id, account_id, now)]

    async def add(self, key: ApiKey, digest: bytes) -> None:
        lists = [None if values is None else list(values) for values in (key.permissions, key.networks)]
        made = (key.created_at, key.created_by, key.expires_at)
        named = (key.id, key.tenant_id, key.account_id, key.name, key.start)
        await self.connection.execute(_ADD, *named, digest, *lists, *made)

    async def end(self, key: ApiKey, at: datetime) -> bool:
        return bool(await self.connection.fetchval(_END, key.id, at))

    async def state(self, digest: bytes) -> KeyState | None:
        row = await self.connection.fetchrow(KEY_STATE, digest)
        return None if row is None else _state_decoder.decode(row["state"])

    async def note_uses(self, uses: Sequence[KeyUse]) -> None:
        columns = ([use.key_id for use in uses], [use.at for use in uses], [use.address for use in uses])
        await self.connection.execute(_NOTE_USES, *columns)

    async def take_expiring(self, now: datetime, until: datetime, most: int) -> list[ApiKey]:
        keys = [_key(row) for row in await self.connection.fetch(_TAKE_EXPIRING, now, until, most)]
        return sorted(keys, key=lambda key: (key.expires_at, key.id))


def _key(row: asyncpg.Record) -> ApiKey:
    values = dict(row)
    for name in ("permissions", "networks"):
        values[name] = None if values[name] is None else tuple(values[name])
    return ApiKey(**values)
