"""Roles of tenants and of the system, and permissions added by administrators."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.connection.failures import taken
from application.ports.identity.users import PERMISSION_TAKEN, ROLE_HELD, ListedRole
from domain.errors import Conflict
from domain.identity.users import SUPER_ADMIN, Role
from domain.scope import SYSTEM_TENANT_ID, Permission

NAME_TAKEN = ("name", "There is a role of this name already.")
TAKEN: Mapping[str, tuple[str, str]] = {"uq_roles_name": NAME_TAKEN, "uq_permissions_name": ("name", PERMISSION_TAKEN)}

_VISIBLE = """
SELECT id, tenant_id, name, description, permissions
FROM roles WHERE tenant_id = $1 OR tenant_id IS NULL ORDER BY name, tenant_id"""
# Separate statement: for an average tenant PostgreSQL would read all members for each role, which needs seconds for
# thousands of both.
HOLDERS = """
SELECT role_id, count(*) AS users FROM (
    SELECT role_id FROM membership_roles WHERE tenant_id = $1
    UNION ALL SELECT role_id FROM user_roles s WHERE $2 AND NOT EXISTS (
        SELECT FROM membership_roles m WHERE m.tenant_id = $1 AND m.user_id = s.user_id AND m.role_id = s.role_id)) h
GROUP BY role_id"""
# KEY SHARE, so that no transaction can delete a role before the membership receives it.
_BY_NAMES = """
SELECT id, tenant_id, name, description, permissions
FROM roles WHERE (tenant_id = $1 OR tenant_id IS NULL) AND name = ANY ($2)
ORDER BY tenant_id IS NULL, name FOR KEY SHARE"""
# UPDATE conflicts with the KEY SHARE of users giving the role, so the sizes of holders' tokens stay valid.
_LOCK = "SELECT id, tenant_id, name, description, permissions FROM roles WHERE id = $1 FOR UPDATE"
_BY_IDS = "SELECT id, tenant_id, name, description, permissions FROM roles WHERE id = ANY ($1)"
_LOCK_NAME = """
SELECT pg_advisory_xact_lock(hashtextextended('tenantry.role:' || lower($1::text COLLATE "default"), 0))"""
# Accept an unchanged name: a system role may have received the same name later.
_SYSTEM_HAS = """
SELECT EXISTS (
    SELECT FROM roles WHERE tenant_id IS NULL AND id <> $2
    AND lower(name COLLATE "default") = lower($1::text COLLATE "default"))
AND NOT EXISTS (
    SELECT FROM roles WHERE id = $2 AND lower(name COLLATE "default") = lower($1::text COLLATE "default"))"""
_ADD = "INSERT INTO roles (id, tenant_id, name, description, permissions) VALUES ($1, $2, $3, $4, $5)"
_SAVE = "UPDATE roles SET name = $2, description = $3, permissions = $4 WHERE id = $1"
_REMOVE = "DELETE FROM roles WHERE id = $1"
_HELD_BESIDE = """
WITH places AS (
    SELECT tenant_id, user_id FROM membership_roles WHERE role_id = $1
    UNION SELECT tenant_id, account_id FROM service_account_roles WHERE role_id = $1
    UNION SELECT m.tenant_id, h.user_id FROM user_roles h JOIN memberships m ON m.user_id = h.user_id
          WHERE h.role_id = $1
    UNION SELECT NULL, user_id FROM user_roles WHERE role_id = $1)
SELECT DISTINCT ARRAY(
    SELECT role_id FROM membership_roles h WHERE h.tenant_id = p.tenant_id AND h.user_id = p.user_id
    UNION SELECT role_id FROM user_roles h WHERE h.user_id = p.user_id
    UNION SELECT role_id FROM service_account_roles h WHERE h.tenant_id = p.tenant_id AND h.account_id = p.user_id
    EXCEPT SELECT $1
    ORDER BY 1) AS role_ids
FROM places p ORDER BY role_ids"""
_LOCK_SUPER_ADMINS = "SELECT pg_advisory_xact_lock(hashtextextended('tenantry.super_admins', 0))"
_SUPER_ADMINS = """
SELECT u.id FROM users u JOIN user_roles h ON h.user_id = u.id JOIN roles r ON r.id = h.role_id
WHERE u.is_active AND r.tenant_id IS NULL AND r.name = $1 ORDER BY u.id"""
_PERMISSIONS = "SELECT id, name, description, category FROM permissions ORDER BY name"
_ADD_PERMISSION = "INSERT INTO permissions (id, name, description, category) VALUES ($1, $2, $3, $4)"


@dataclass(frozen=True, slots=True)
class PostgresRoles:
    connection: ServiceConnection

    async def visible(self, tenant_id: UUID) -> list[ListedRole]:
        rows = await self.connection.fetch(_VISIBLE, tenant_id)
        counted = await self.connection.fetch(HOLDERS, tenant_id, tenant_id == SYSTEM_TENANT_ID)
        holders = {row["role_id"]: row["users"] for row in counted}
        return [ListedRole(_role(row), holders.get(row["id"], 0)) for row in rows]

    async def by_names(self, tenant_id: UUID | None, names: Sequence[str]) -> list[Role]:
        return [_role(row) for row in await self.connection.fetch(_BY_NAMES, tenant_id, list(names))]

    async def lock(self, role_id: UUID) -> Role | None:
        row = await self.connection.fetchrow(_LOCK, role_id)
        return None if row is None else _role(row)

    async def add(self, role: Role) -> None:
        await self._ensure_free(role)
        with taken(TAKEN):
            await self.connection.execute(
                _ADD, role.id, role.tenant_id, role.name, role.description, list(role.permissions)
            )

    async def save(self, role: Role) -> None:
        await self._ensure_free(role)
        with taken(TAKEN):
            await self.connection.execute(_SAVE, role.id, role.name, role.description, list(role.permissions))

    async def remove(self, role_id: UUID) -> None:
        try:
            await self.connection.execute(_REMOVE, role_id)
        except asyncpg.ForeignKeyViolationError:
            raise Conflict(ROLE_HELD) from None

    async def held_beside(self, role_id: UUID) -> list[tuple[Role, ...]]:
        # The database sorts the sets: sorting those of a large tenant here would block the event loop.
        sets = [row["role_ids"] for row in await self.connection.fetch(_HELD_BESIDE, role_id)]
        every = {held for role_ids in sets for held in role_ids}
        roles = {row["id"]: _role(row) for row in await self.connection.fetch(_BY_IDS, list(every))}
        return [(), *(tuple(roles[held] for held in role_ids) for role_ids in sets if role_ids)]

    async def lock_super_admins(self) -> list[UUID]:
        # Lock first: the next statement's snapshot begins after the lock and includes the last change.
        await self.connection.execute(_LOCK_SUPER_ADMINS)
        return [row["id"] for row in await self.connection.fetch(_SUPER_ADMINS, SUPER_ADMIN)]

    async def _ensure_free(self, role: Role) -> None:
        # Lock the name: the unique index covers one tenant, so it cannot exclude names of system roles.
        await self.connection.execute(_LOCK_NAME, role.name)
        if await self.connection.fetchval(_SYSTEM_HAS, role.name, role.id):
            raise Conflict.on(*NAME_TAKEN)


def _role(row: asyncpg.Record) -> Role:
    return Role(
        id=row["id"],
        tenant_id=row["tenant_id"],
        name=row["name"],
        description=row["description"],
        permissions=tuple(row["permissions"]),
    )


@dataclass(frozen=True, slots=True)
class PostgresPermissions:
    connection: ServiceConnection

    async def all(self) -> list[Permission]:
        return [Permission(**row) for row in await self.connection.fetch(_PERMISSIONS)]

    async def add(self, permission: Permission) -> None:
        values = (permission.id, permission.name, permission.description, permission.category)
        with taken(TAKEN):
            await self.connection.execute(_ADD_PERMISSION, *values)
