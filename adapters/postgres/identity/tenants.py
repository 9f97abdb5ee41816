"""Tenants; a deleted one leaves its row and gives its identifier back."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg
import msgspec

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.connection.failures import taken
from adapters.postgres.identity.listings import Conditions, order_by, total_of
from adapters.postgres.schema.sql import without_case
from application.ports.identity.listing import Listing
from domain.identity.tenants import Tenant, TenantSettings

TAKEN: Mapping[str, tuple[str, str]] = {
    "uq_tenants_identifier": ("identifier", "There is a tenant with this identifier already.")
}
SORTED_BY = tuple(name for name in Tenant.__struct_fields__ if name != "settings")
COLUMNS = f"{', '.join(SORTED_BY)}, settings::text"
SEARCHED = without_case("(name || ' ' || identifier || ' ' || coalesce(domain, ''))")

_ADD = """
INSERT INTO tenants (id, name, identifier, domain, is_active, created_at, settings)
VALUES ($1, $2, $3, $4, $5, $6, $7::text::jsonb)"""
_SAVE = """
UPDATE tenants SET name = $2, identifier = $3, domain = $4, is_active = $5, created_at = $6, settings = $7::text::jsonb
WHERE id = $1 AND deleted_at IS NULL"""
_LIVING = f"SELECT {COLUMNS} FROM tenants WHERE deleted_at IS NULL AND "
_REMOVE = "UPDATE tenants SET deleted_at = $2 WHERE id = $1 AND deleted_at IS NULL"

_settings = msgspec.json.Decoder(TenantSettings)


@dataclass(frozen=True, slots=True)
class PostgresTenants:
    connection: ServiceConnection

    async def by_id(self, tenant_id: UUID) -> Tenant | None:
        return _found(await self.connection.fetchrow(f"{_LIVING}id = $1", tenant_id))

    async def by_identifier(self, identifier: str) -> Tenant | None:
        return _found(await self.connection.fetchrow(f"{_LIVING}identifier = $1", identifier))

    async def page(self, listing: Listing) -> tuple[list[Tenant], int]:
        conditions = Conditions(parts=["deleted_at IS NULL"])
        if listing.is_active is not None:
            conditions.add(f"is_active = {conditions.value(listing.is_active, 'boolean')}")
        conditions.search(SEARCHED, listing.search)
        ordered = order_by(listing, SORTED_BY)
        rows = await self.connection.fetch(f"SELECT {COLUMNS} FROM tenants {conditions} {ordered}", *conditions.values)
        return [_tenant(row) for row in rows], await total_of(
            self.connection, "tenants", conditions, listing, len(rows)
        )

    async def add(self, tenant: Tenant) -> None:
        with taken(TAKEN):
            await self.connection.execute(_ADD, *_values(tenant))

    async def save(self, tenant: Tenant) -> None:
        with taken(TAKEN):
            await self.connection.execute(_SAVE, *_values(tenant))

    async def remove(self, tenant_id: UUID, at: datetime) -> None:
        await self.connection.execute(_REMOVE, tenant_id, at)


def _values(tenant: Tenant) -> list[object]:
    settings = msgspec.json.encode(tenant.settings).decode()
    return [*(getattr(tenant, name) for name in SORTED_BY), settings]


def _found(row: asyncpg.Record | None) -> Tenant | None:
    return None if row is None else _tenant(row)


def _tenant(row: asyncpg.Record) -> Tenant:
    *columns, settings = row.values()
    return Tenant(**dict(zip(SORTED_BY, columns, strict=True)), settings=_settings.decode(settings))
