"""Tenants. Deletion retains the row and frees the identifier."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
import sqlalchemy as sa
from sqlalchemy import ColumnElement, func

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.connection.failures import taken
from adapters.postgres.identity.listings import (
    SHAPES,
    TABLES,
    ensure_sortable,
    ordering,
    page_values,
    paged,
    search_conditions,
    search_values,
    total_told_by,
)
from adapters.postgres.statements.compiled import CompiledStatement, compiled, constant, parameter
from application.ports.identity.users import Listing
from domain.identity.users import Tenant, TenantSettings

TAKEN: Mapping[str, tuple[str, str]] = {
    "uq_tenants_identifier": ("identifier", "There is a tenant with this identifier already.")
}
COLUMNS = tuple(name for name in Tenant.__struct_fields__ if name != "settings")
"""Columns of a tenant that need no conversion; ``settings`` follows them as text, and this module decodes it."""

_ADD = """
INSERT INTO tenants (id, name, identifier, domain, is_active, created_at, settings)
VALUES ($1, $2, $3, $4, $5, $6, $7::text::jsonb)"""
_SAVE = """
UPDATE tenants SET name = $2, identifier = $3, domain = $4, is_active = $5, created_at = $6, settings = $7::text::jsonb
WHERE id = $1 AND deleted_at IS NULL"""
_BY_ID = """
SELECT id, name, identifier, domain, is_active, created_at, settings::text
FROM tenants WHERE id = $1 AND deleted_at IS NULL"""
_LOCK = """
SELECT id, name, identifier, domain, is_active, created_at, settings::text
FROM tenants WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE"""
_BY_IDENTIFIER = """
SELECT id, name, identifier, domain, is_active, created_at, settings::text
FROM tenants WHERE identifier = $1 AND deleted_at IS NULL"""
# Lock in one order against deadlocks. Return one row, not one per member.
_LOCK_MEMBERS = """
WITH locked AS (
    SELECT u.id FROM users u WHERE u.id IN (SELECT user_id FROM memberships WHERE tenant_id = $1)
    ORDER BY u.id FOR NO KEY UPDATE OF u)
SELECT count(*) FROM locked"""
# Lock before the tenant, in the order of a join by domain.
_LOCK_DOMAINS = "SELECT domain FROM tenant_domains WHERE tenant_id = $1 ORDER BY domain FOR UPDATE"
_REMOVE = "UPDATE tenants SET deleted_at = $2 WHERE id = $1 AND deleted_at IS NULL"
_REMOVE_DOMAINS = "DELETE FROM tenant_domains WHERE tenant_id = $1"
_TAKE_ROLES = "DELETE FROM membership_roles WHERE tenant_id = $1"
_TAKE_ROLES_OF_SERVICE_ACCOUNTS = "DELETE FROM service_account_roles WHERE tenant_id = $1"
# Two statements: the unique index allows one default per user at every moment.
_UNMARK_MEMBERS = "UPDATE memberships SET is_default = false WHERE tenant_id = $1 AND is_default"
_MARK_OLDEST_OF_MEMBERS = """
UPDATE memberships m SET is_default = true
FROM (
    SELECT DISTINCT ON (o.user_id) o.user_id, o.tenant_id
    FROM memberships left_behind JOIN memberships o ON o.user_id = left_behind.user_id
    JOIN tenants t ON t.id = o.tenant_id AND t.deleted_at IS NULL
    WHERE left_behind.tenant_id = $1
    AND NOT EXISTS (SELECT FROM memberships d WHERE d.user_id = left_behind.user_id AND d.is_default)
    ORDER BY o.user_id, o.joined_at, o.tenant_id) oldest
WHERE m.user_id = oldest.user_id AND m.tenant_id = oldest.tenant_id"""

_TENANTS = TABLES["tenants"]
_settings = msgspec.json.Decoder(TenantSettings)


class TenantFilter(msgspec.Struct, frozen=True):
    """Conditions of a list without values; ``search`` are the keys of ``search_values``."""

    by_activity: bool
    search: tuple[str, ...]

    def conditions(self) -> list[ColumnElement[bool]]:
        columns, blank = _TENANTS.c, constant(" ")
        text = columns.name + blank + columns.identifier + blank + func.coalesce(columns.domain, constant(""))
        found = [columns.deleted_at.is_(None), *search_conditions(text, self.search)]
        if self.by_activity:
            found.append(columns.is_active == parameter("is_active", sa.Boolean()))
        return found


@dataclass(frozen=True, slots=True)
class PostgresTenants:
    connection: ServiceConnection

    async def by_id(self, tenant_id: UUID) -> Tenant | None:
        return _found(await self.connection.fetchrow(_BY_ID, tenant_id))

    async def by_identifier(self, identifier: str) -> Tenant | None:
        return _found(await self.connection.fetchrow(_BY_IDENTIFIER, identifier))

    async def lock(self, tenant_id: UUID) -> Tenant | None:
        return _found(await self.connection.fetchrow(_LOCK, tenant_id))

    async def lock_to_remove(self, tenant_id: UUID) -> Tenant | None:
        await self.connection.execute(_LOCK_MEMBERS, tenant_id)
        await self.connection.execute(_LOCK_DOMAINS, tenant_id)
        tenant = await self.lock(tenant_id)
        # Lock again: a user may have joined before the tenant lock. Now no user can join.
        await self.connection.execute(_LOCK_MEMBERS, tenant_id)
        return tenant

    async def page(self, listing: Listing) -> tuple[list[Tenant], int]:
        ensure_sortable(listing, COLUMNS)
        searched = search_values(listing.search)
        chosen = TenantFilter(listing.is_active is not None, tuple(searched))
        values: dict[str, Any] = {"is_active": listing.is_active, **searched, **page_values(listing)}
        statement = _page_statement(chosen, listing.sort_by, listing.descending)
        rows = await self.connection.fetch(statement.text, *statement.arguments(values))
        total = total_told_by(listing, len(rows))
        if total is None:
            statement = _total_statement(chosen)
            total = int(await self.connection.fetchval(statement.text, *statement.arguments(values)))
        return [_tenant(row) for row in rows], total

    async def add(self, tenant: Tenant) -> None:
        with taken(TAKEN):
            await self.connection.execute(_ADD, *_values(tenant))

    async def save(self, tenant: Tenant) -> None:
        with taken(TAKEN):
            await self.connection.execute(_SAVE, *_values(tenant))

    async def remove(self, tenant_id: UUID, at: datetime) -> None:
        await self.connection.execute(_REMOVE, tenant_id, at)
        await self.connection.execute(_REMOVE_DOMAINS, tenant_id)
        await self.connection.execute(_TAKE_ROLES, tenant_id)
        await self.connection.execute(_TAKE_ROLES_OF_SERVICE_ACCOUNTS, tenant_id)
        await self.connection.execute(_UNMARK_MEMBERS, tenant_id)
        await self.connection.execute(_MARK_OLDEST_OF_MEMBERS, tenant_id)


@lru_cache(SHAPES)
def _page_statement(chosen: TenantFilter, sort_by: str, descending: bool) -> CompiledStatement:
    columns = [*(_TENANTS.c[name] for name in COLUMNS), sa.cast(_TENANTS.c.settings, sa.Text())]
    rows = sa.select(*columns).where(*chosen.conditions())
    return compiled(paged(rows.order_by(*ordering(_TENANTS, sort_by, descending=descending))))


@lru_cache(SHAPES)
def _total_statement(chosen: TenantFilter) -> CompiledStatement:
    return compiled(sa.select(func.count()).select_from(_TENANTS).where(*chosen.conditions()))


def _values(tenant: Tenant) -> list[object]:
    settings = msgspec.json.encode(tenant.settings).decode()
    return [*(getattr(tenant, name) for name in COLUMNS), settings]


def _found(row: asyncpg.Record | None) -> Tenant | None:
    return None if row is None else _tenant(row)


def _tenant(row: asyncpg.Record) -> Tenant:
    *columns, settings = row.values()
    return Tenant(**dict(zip(COLUMNS, columns, strict=True)), settings=_settings.decode(settings))
