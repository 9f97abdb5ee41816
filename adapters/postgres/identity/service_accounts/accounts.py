"""Service accounts. Deletion retains the row for its ended keys, and frees the name."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg
import msgspec

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.connection.failures import taken
from application.ports.identity.service_accounts import ListedServiceAccount
from application.ports.identity.users import Listing
from domain.errors import NotFound
from domain.identity.service_accounts import ServiceAccount

TAKEN: Mapping[str, tuple[str, str]] = {
    "uq_service_accounts_name": ("name", "There is a service account of this name already.")
}
SORTED_BY = ("created_at", "name", "is_active")

# A tenant has some dozens of accounts, so sorting needs no index.
_PAGE = """
SELECT row_to_json(o) AS account, u.keys, u.last_used_at, u.next_end, count(*) OVER () AS total
FROM service_accounts a, LATERAL (
    SELECT a.id, a.tenant_id AS "tenantId", a.name, a.description, a.is_active AS "isActive",
        a.created_at AS "createdAt", a.created_by AS "createdBy", (
            SELECT coalesce(json_agg(row_to_json(r) ORDER BY r.name, r.id), '[]') FROM (
                SELECT r.id, r.tenant_id AS "tenantId", r.name, r.description, r.permissions
                FROM service_account_roles h JOIN roles r ON r.id = h.role_id
                WHERE h.tenant_id = a.tenant_id AND h.account_id = a.id) r) AS roles) o, LATERAL (
    SELECT count(*) FILTER (WHERE l.is_living) AS keys, max(k.last_used_at) AS last_used_at,
        min(l.ends_at) FILTER (WHERE l.is_living) AS next_end
    FROM api_keys k, LATERAL (
        SELECT e.ends_at, e.ends_at IS NULL OR e.ends_at > $7 AS is_living
        FROM (SELECT least(k.ended_at, k.expires_at) AS ends_at) e) l
    WHERE k.tenant_id = a.tenant_id AND k.account_id = a.id) u
WHERE a.tenant_id = $1 AND a.deleted_at IS NULL AND ($2::uuid IS NULL OR a.id = $2)
AND ($3::boolean IS NULL OR a.is_active = $3) AND NOT EXISTS (
    SELECT FROM unnest($4::text[]) word
    WHERE lower((a.name || ' ' || a.description) COLLATE "default") NOT LIKE lower(word COLLATE "default"))
AND ($10::text IS NULL OR EXISTS (
    SELECT FROM service_account_roles h JOIN roles r ON r.id = h.role_id
    WHERE h.tenant_id = a.tenant_id AND h.account_id = a.id AND r.name = $10))
ORDER BY
    CASE WHEN $5 = 'name' AND NOT $6 THEN a.name END, CASE WHEN $5 = 'name' AND $6 THEN a.name END DESC,
    CASE WHEN $5 = 'is_active' AND NOT $6 THEN a.is_active END,
    CASE WHEN $5 = 'is_active' AND $6 THEN a.is_active END DESC,
    CASE WHEN $5 = 'created_at' AND NOT $6 THEN a.created_at END,
    CASE WHEN $5 = 'created_at' AND $6 THEN a.created_at END DESC,
    a.id
LIMIT $8 OFFSET $9"""
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('tenantry.service_accounts:' || $1::uuid, 0))"
_COUNT = "SELECT count(*) FROM service_accounts WHERE tenant_id = $1 AND deleted_at IS NULL"
# SHARE: a deletion of the tenant waits until the roles are stored, and then deletes them; later writers find no tenant.
_LOCK_TENANT = "SELECT true FROM tenants WHERE id = $1 AND deleted_at IS NULL FOR SHARE"
_ADD = """
INSERT INTO service_accounts (tenant_id, id, name, description, is_active, created_at, created_by)
VALUES ($1, $2, $3, $4, $5, $6, $7)"""
_SAVE = """
UPDATE service_accounts SET name = $3, description = $4, is_active = $5
WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL"""
_TAKE_ROLES = "DELETE FROM service_account_roles WHERE tenant_id = $1 AND account_id = $2 AND role_id <> ALL ($3)"
_GIVE_ROLES = """
INSERT INTO service_account_roles (tenant_id, account_id, role_id)
SELECT $1, $2, role_id FROM unnest($3::uuid[]) role_id ON CONFLICT DO NOTHING"""
_REMOVE = """
WITH gone AS (
    UPDATE service_accounts SET deleted_at = $3 WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL
    RETURNING tenant_id, id),
freed AS (
    DELETE FROM service_account_roles h USING gone WHERE h.tenant_id = gone.tenant_id AND h.account_id = gone.id)
UPDATE api_keys k SET ended_at = $3 FROM gone
WHERE k.tenant_id = gone.tenant_id AND k.account_id = gone.id
AND (k.ended_at IS NULL OR k.ended_at > $3) AND (k.expires_at IS NULL OR k.expires_at > $3)"""

_account = msgspec.json.Decoder(ServiceAccount)


@dataclass(frozen=True, slots=True)
class PostgresServiceAccounts:
    connection: ServiceConnection

    async def page(self, listing: Listing, now: datetime) -> tuple[list[ListedServiceAccount], int]:
        if listing.sort_by not in SORTED_BY:
            raise ValueError(f"Service accounts cannot be sorted by {listing.sort_by!r}.")
        rows = await self._rows(listing, None, now)
        if rows or listing.page == 1:
            return [_listed(row) for row in rows], rows[0]["total"] if rows else 0
        # A page past the end has no rows, so read the total from the first page.
        first = await self._rows(msgspec.structs.replace(listing, page=1, page_size=1), None, now)
        return [], first[0]["total"] if first else 0

    async def get(self, tenant_id: UUID, account_id: UUID, now: datetime) -> ListedServiceAccount | None:
        rows = await self._rows(Listing(tenant_id=tenant_id), account_id, now)
        return _listed(rows[0]) if rows else None

    async def _rows(self, listing: Listing, account_id: UUID | None, now: datetime) -> list[asyncpg.Record]:
        words = [f"%{_escaped(word)}%" for word in (listing.search or "").split()]
        order = (listing.sort_by, listing.descending)
        paging = (listing.page_size, (listing.page - 1) * listing.page_size)
        which = (listing.tenant_id, account_id, listing.is_active, words)
        return list(await self.connection.fetch(_PAGE, *which, *order, now, *paging, listing.role))

    async def lock(self, tenant_id: UUID) -> int:
        # Lock first: the next statement's snapshot begins after the lock.
        await self.connection.execute(_LOCK, tenant_id)
        return int(await self.connection.fetchval(_COUNT, tenant_id))

    async def add(self, account: ServiceAccount) -> None:
        await self._lock_tenant(account.tenant_id)
        described = (account.name, account.description, account.is_active)
        with taken(TAKEN):
            await self.connection.execute(
                _ADD, account.tenant_id, account.id, *described, account.created_at, account.created_by
            )
        await self._give_roles(account)

    async def save(self, account: ServiceAccount) -> None:
        await self._lock_tenant(account.tenant_id)
        described = (account.name, account.description, account.is_active)
        with taken(TAKEN):
            await self.connection.execute(_SAVE, account.tenant_id, account.id, *described)
        await self._give_roles(account)

    async def _lock_tenant(self, tenant_id: UUID) -> None:
        if not await self.connection.fetchval(_LOCK_TENANT, tenant_id):
            raise NotFound

    async def _give_roles(self, account: ServiceAccount) -> None:
        role_ids = [role.id for role in account.roles]
        await self.connection.execute(_TAKE_ROLES, account.tenant_id, account.id, role_ids)
        await self.connection.execute(_GIVE_ROLES, account.tenant_id, account.id, role_ids)

    async def remove(self, tenant_id: UUID, account_id: UUID, at: datetime) -> None:
        await self.connection.execute(_REMOVE, tenant_id, account_id, at)


def _escaped(word: str) -> str:
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _listed(row: asyncpg.Record) -> ListedServiceAccount:
    return ListedServiceAccount(_account.decode(row["account"]), row["keys"], row["last_used_at"], row["next_end"])
