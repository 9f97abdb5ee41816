"""Tenants. A deleted tenant remains for the rows that refer to it, but no query finds it."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from adapters.memory.identity.memberships import mark_oldest
from adapters.memory.listing import has_words, page_of
from adapters.memory.store import Access, Store
from application.ports.identity.users import Listing
from domain.errors import Conflict
from domain.identity.users import Tenant


@dataclass(frozen=True)
class MemoryTenants:
    access: Access

    async def by_id(self, tenant_id: UUID) -> Tenant | None:
        store = self.access.read()
        return None if tenant_id in store.deleted_tenants else store.tenants.get(tenant_id)

    async def by_identifier(self, identifier: str) -> Tenant | None:
        tenants = _living(self.access.read())
        return next((tenant for tenant in tenants if tenant.identifier == identifier), None)

    async def lock(self, tenant_id: UUID) -> Tenant | None:
        self.access.lock()
        return await self.by_id(tenant_id)

    async def lock_to_remove(self, tenant_id: UUID) -> Tenant | None:
        return await self.lock(tenant_id)

    async def page(self, listing: Listing) -> tuple[list[Tenant], int]:
        found = [tenant for tenant in _living(self.access.read()) if _is_listed(tenant, listing)]
        return page_of(found, listing, lambda tenant: tenant), len(found)

    async def add(self, tenant: Tenant) -> None:
        async with self.access.write() as store:
            _ensure_identifier_is_free(store, tenant)
            store.tenants[tenant.id] = tenant

    async def save(self, tenant: Tenant) -> None:
        async with self.access.write() as store:
            if tenant.id in store.tenants and tenant.id not in store.deleted_tenants:
                _ensure_identifier_is_free(store, tenant)
                store.tenants[tenant.id] = tenant

    async def remove(self, tenant_id: UUID, at: datetime) -> None:
        async with self.access.write() as store:
            if tenant_id in store.tenants:
                store.deleted_tenants.setdefault(tenant_id, at)
                _empty(store, tenant_id)


def _empty(store: Store, tenant_id: UUID) -> None:
    """Delete a tenant's domains and role assignments."""
    store.domains = {key: held for key, held in store.domains.items() if held.tenant_id != tenant_id}
    for key, held in list(store.memberships.items()):
        if held.tenant_id == tenant_id:
            store.memberships[key] = replace(held, is_default=False, role_ids=())
            if held.is_default:
                mark_oldest(store, held.user_id)
    for account in list(store.service_accounts.values()):
        if account.tenant_id == tenant_id:
            store.service_accounts[account.id] = replace(account, roles=())


def _living(store: Store) -> list[Tenant]:
    return [tenant for tenant in store.tenants.values() if tenant.id not in store.deleted_tenants]


def _is_listed(tenant: Tenant, listing: Listing) -> bool:
    is_wanted = listing.is_active is None or tenant.is_active == listing.is_active
    return is_wanted and has_words(listing.search, (tenant.name, tenant.identifier, tenant.domain))


def _ensure_identifier_is_free(store: Store, tenant: Tenant) -> None:
    if any(other.identifier == tenant.identifier and other.id != tenant.id for other in _living(store)):
        raise Conflict.on("identifier", "There is a tenant with this identifier already.")
