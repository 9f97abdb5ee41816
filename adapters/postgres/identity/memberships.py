"""Memberships of users in tenants, with their roles, and each user's default tenant."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from adapters.postgres.connection.connections import ServiceConnection
from domain.errors import NotFound
from domain.identity.users import ADMIN, Membership, TenantSecurity

_VISIT = """
SELECT id AS tenant_id, name AS tenant_name, identifier AS tenant_identifier, is_active AS tenant_is_active,
    false AS is_default,
    (settings -> 'security')::text AS security
FROM tenants WHERE id = $1 AND deleted_at IS NULL"""
_SET_SYSTEM_ROLES = """
WITH gone AS (DELETE FROM user_roles WHERE user_id = $1 AND role_id <> ALL ($2))
INSERT INTO user_roles (user_id, role_id) SELECT $1, given FROM unnest($2::uuid[]) given
ON CONFLICT DO NOTHING"""
# NO KEY, so that other transactions can write rows that refer to the user, such as sessions.
_LOCK_USER = "SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE"
# SHARE: a new membership and a deletion of the tenant exclude each other. A deletion moves each default membership, so
# no default is in a deleted tenant.
_ADD = """
WITH tenant AS (SELECT id FROM tenants WHERE id = $1 AND deleted_at IS NULL FOR SHARE),
made AS (
    INSERT INTO memberships (tenant_id, user_id, is_default, joined_at)
    SELECT id, $2, NOT EXISTS (SELECT FROM memberships WHERE user_id = $2 AND is_default), $3 FROM tenant
    ON CONFLICT DO NOTHING RETURNING true)
SELECT EXISTS (SELECT FROM made) FROM tenant"""
_SET_ROLES = """
WITH gone AS (DELETE FROM membership_roles WHERE tenant_id = $1 AND user_id = $2 AND role_id <> ALL ($3))
INSERT INTO membership_roles (tenant_id, user_id, role_id) SELECT $1, $2, given FROM unnest($3::uuid[]) given
ON CONFLICT DO NOTHING"""
# Two statements: the unique index allows one default per user at every moment.
_UNMARK = "UPDATE memberships SET is_default = false WHERE user_id = $1 AND is_default AND tenant_id <> $2"
_MARK = "UPDATE memberships SET is_default = true WHERE user_id = $1 AND tenant_id = $2 AND NOT is_default"
# Record the end of the membership: a domain does not readmit a former member.
_REMOVE = """
WITH gone AS (DELETE FROM memberships WHERE tenant_id = $1 AND user_id = $2 RETURNING is_default),
noted AS (
    INSERT INTO former_members (tenant_id, user_id) SELECT $1, $2 FROM gone
    ON CONFLICT DO NOTHING)
SELECT is_default FROM gone"""
_MARK_OLDEST = """
UPDATE memberships SET is_default = true WHERE user_id = $1 AND tenant_id = (
    SELECT m.tenant_id FROM memberships m JOIN tenants t ON t.id = m.tenant_id AND t.deleted_at IS NULL
    WHERE m.user_id = $1 ORDER BY m.joined_at, m.tenant_id LIMIT 1)"""
_LOCK_ADMINS = "SELECT pg_advisory_xact_lock(hashtextextended('tenantry.admins:' || $1::uuid::text, 0))"
ADMINS = """
WITH admin AS (SELECT id FROM roles WHERE tenant_id IS NULL AND name = $2),
holders AS (
    SELECT h.user_id FROM membership_roles h JOIN admin ON admin.id = h.role_id WHERE h.tenant_id = $1
    UNION SELECT h.user_id FROM user_roles h JOIN admin ON admin.id = h.role_id)
SELECT u.id FROM holders h
JOIN memberships m ON m.tenant_id = $1 AND m.user_id = h.user_id JOIN users u ON u.id = h.user_id
WHERE u.is_active ORDER BY u.id"""

_SET_OWNER = """
UPDATE memberships SET is_owner = $3 WHERE user_id = $1 AND tenant_id = $2 AND is_owner <> $3 RETURNING true"""
_LOCK_OWNERS = "SELECT pg_advisory_xact_lock(hashtextextended('tenantry.owners:' || $1::uuid::text, 0))"
_OWNERS = """
SELECT m.user_id FROM memberships m JOIN users u ON u.id = m.user_id
WHERE m.tenant_id = $1 AND m.is_owner AND u.is_active ORDER BY m.user_id"""

_security = msgspec.json.Decoder(TenantSecurity)


@dataclass(frozen=True, slots=True)
class PostgresMemberships:
    """Memberships in PostgreSQL. Each change locks the user's row, so that one default tenant remains."""

    connection: ServiceConnection

    async def lock(self, user_id: UUID) -> None:
        await self.connection.execute(_LOCK_USER, user_id)

    async def save(
        self, user_id: UUID, tenant_id: UUID, role_ids: Sequence[UUID], is_default: bool | None, at: datetime
    ) -> bool:
        await self.connection.execute(_LOCK_USER, user_id)
        made = await self.connection.fetchval(_ADD, tenant_id, user_id, at)
        if made is None:
            raise NotFound
        await self.connection.execute(_SET_ROLES, tenant_id, user_id, list(role_ids))
        if is_default:
            await self.connection.execute(_UNMARK, user_id, tenant_id)
            await self.connection.execute(_MARK, user_id, tenant_id)
        return bool(made)

    async def visit(self, tenant_id: UUID, at: datetime) -> Membership | None:
        row = await self.connection.fetchrow(_VISIT, tenant_id)
        if row is None:
            return None
        security = None if row["security"] is None else _security.decode(row["security"])
        return Membership(**{**row, "security": security}, joined_at=at)

    async def set_system_roles(self, user_id: UUID, role_ids: Sequence[UUID]) -> None:
        await self.connection.execute(_LOCK_USER, user_id)
        await self.connection.execute(_SET_SYSTEM_ROLES, user_id, list(role_ids))

    async def remove(self, user_id: UUID, tenant_id: UUID) -> bool:
        await self.connection.execute(_LOCK_USER, user_id)
        was_default = await self.connection.fetchval(_REMOVE, tenant_id, user_id)
        if was_default:
            await self.connection.execute(_MARK_OLDEST, user_id)
        return was_default is not None

    async def lock_admins(self, tenant_id: UUID) -> list[UUID]:
        # Lock first: the next statement's snapshot begins after the lock and includes the last change.
        await self.connection.execute(_LOCK_ADMINS, tenant_id)
        # Plan for this tenant: with a plan for an average tenant, PostgreSQL would read all members of a large one.
        return [row["id"] for row in await self.connection.fetch_anew(ADMINS, tenant_id, ADMIN)]

    async def set_owner(self, user_id: UUID, tenant_id: UUID, is_owner: bool) -> bool:
        await self.connection.execute(_LOCK_USER, user_id)
        return bool(await self.connection.fetchval(_SET_OWNER, user_id, tenant_id, is_owner))

    async def lock_owners(self, tenant_id: UUID) -> list[UUID]:
        # Lock first: the next statement's snapshot begins after the lock.
        await self.connection.execute(_LOCK_OWNERS, tenant_id)
        return [row["user_id"] for row in await self.connection.fetch(_OWNERS, tenant_id)]
