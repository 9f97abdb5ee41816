"""Service accounts; deletion removes an account and ends its keys."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from adapters.memory.listing import has_words, page_of
from adapters.memory.store import Access, Store
from application.ports.identity.service_accounts import ListedServiceAccount
from application.ports.identity.users import Listing
from domain.errors import Conflict, NotFound
from domain.identity.service_accounts import ServiceAccount


@dataclass(frozen=True)
class MemoryServiceAccounts:
    access: Access

    async def page(self, listing: Listing, now: datetime) -> tuple[list[ListedServiceAccount], int]:
        store = self.access.read()
        found = [
            _listed(store, account, now) for account in store.service_accounts.values() if _is_listed(account, listing)
        ]
        return page_of(found, listing, lambda listed: listed.account), len(found)

    async def get(self, tenant_id: UUID, account_id: UUID, now: datetime) -> ListedServiceAccount | None:
        store = self.access.read()
        account = store.service_accounts.get(account_id)
        return None if account is None or account.tenant_id != tenant_id else _listed(store, account, now)

    async def lock(self, tenant_id: UUID) -> int:
        accounts = self.access.lock().service_accounts.values()
        return sum(account.tenant_id == tenant_id for account in accounts)

    async def add(self, account: ServiceAccount) -> None:
        async with self.access.write() as store:
            _ensure_tenant(store, account)
            _ensure_name_is_free(store, account)
            store.service_accounts[account.id] = account

    async def save(self, account: ServiceAccount) -> None:
        async with self.access.write() as store:
            _ensure_tenant(store, account)
            _ensure_name_is_free(store, account)
            stored = store.service_accounts.get(account.id)
            if stored is not None and stored.tenant_id == account.tenant_id:
                store.service_accounts[account.id] = account

    async def remove(self, tenant_id: UUID, account_id: UUID, at: datetime) -> None:
        async with self.access.write() as store:
            account = store.service_accounts.get(account_id)
            if account is None or account.tenant_id != tenant_id:
                return
            del store.service_accounts[account_id]
            for digest, stored in store.api_keys.items():
                ends_at = stored.key.ends_at
                if stored.key.account_id == account_id and (ends_at is None or ends_at > at):
                    store.api_keys[digest] = replace(stored, key=replace(stored.key, ended_at=at))


def current_roles(store: Store, account: ServiceAccount) -> ServiceAccount:
    """Return the account with its current roles. The store has only the roles' ids."""
    roles = [store.roles[role.id] for role in account.roles]
    return replace(account, roles=tuple(sorted(roles, key=lambda role: (role.name, role.id))))


def _listed(store: Store, account: ServiceAccount, now: datetime) -> ListedServiceAccount:
    keys = [stored.key for stored in store.api_keys.values() if stored.key.account_id == account.id]
    living = [key for key in keys if key.ends_at is None or key.ends_at > now]
    ends = [key.ends_at for key in living if key.ends_at is not None]
    uses = [key.last_used_at for key in keys if key.last_used_at is not None]
    return ListedServiceAccount(
        current_roles(store, account), len(living), max(uses, default=None), min(ends, default=None)
    )


def _is_listed(account: ServiceAccount, listing: Listing) -> bool:
    is_wanted = listing.is_active is None or account.is_active == listing.is_active
    is_here = account.tenant_id == listing.tenant_id
    holds_role = listing.role is None or any(role.name == listing.role for role in account.roles)
    return is_here and is_wanted and holds_role and has_words(listing.search, (account.name, account.description))


def _ensure_tenant(store: Store, account: ServiceAccount) -> None:
    if account.tenant_id not in store.tenants or account.tenant_id in store.deleted_tenants:
        raise NotFound


def _ensure_name_is_free(store: Store, account: ServiceAccount) -> None:
    others = [other for other in store.service_accounts.values() if other.tenant_id == account.tenant_id]
    if any(other.id != account.id and other.name.lower() == account.name.lower() for other in others):
        raise Conflict.on("name", "There is a service account of this name already.")
