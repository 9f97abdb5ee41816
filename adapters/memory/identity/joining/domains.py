"""Domains of tenants, join requests, and marks of former members."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from adapters.memory.store import Access, Store
from application.ports.identity.domains import DomainUsage, ListedDomain, ListedJoinRequest
from application.ports.identity.users import AddressMark
from domain.errors import Conflict
from domain.identity.domains import JoinRequest, JoinStatus, TenantDomain
from domain.identity.users import Role


@dataclass(frozen=True)
class MemoryTenantDomains:
    access: Access

    async def all(self, tenant_id: UUID) -> list[ListedDomain]:
        store = self.access.read()
        own = [stored for stored in store.domains.values() if stored.tenant_id == tenant_id]
        return [
            ListedDomain(stored, _role_names(store, stored)) for stored in sorted(own, key=lambda each: each.domain)
        ]

    async def lock(self, tenant_id: UUID, domain: str) -> TenantDomain | None:
        return self.access.lock().domains.get((tenant_id, domain))

    async def usage(self, tenant_id: UUID, domain: str) -> DomainUsage:
        return DomainUsage(_is_taken(self.access.read(), tenant_id, domain), len(await self.all(tenant_id)))

    async def save(self, domain: TenantDomain) -> None:
        async with self.access.write() as store:
            if domain.state == "verified" and _is_taken(store, domain.tenant_id, domain.domain):
                raise Conflict.on("domain", "is verified already: contact the service operator")
            stored = store.domains.get((domain.tenant_id, domain.domain))
            kept = replace(domain, created_at=stored.created_at) if stored else domain
            store.domains[domain.tenant_id, domain.domain] = kept

    async def remove(self, tenant_id: UUID, domain: str) -> bool:
        async with self.access.write() as store:
            return store.domains.pop((tenant_id, domain), None) is not None

    async def joinable(self) -> list[str]:
        store = self.access.read()
        return [stored.domain for stored in store.domains.values() if _is_open(store, stored) and stored.mode != "off"]

    async def verified(self, domain: str) -> TenantDomain | None:
        store = self.access.read()
        found = (stored for stored in store.domains.values() if stored.domain == domain and _is_open(store, stored))
        return next(found, None)

    async def take_due(self, before: datetime, at: datetime, most: int) -> list[TenantDomain]:
        async with self.access.write() as store:
            verified = [stored for stored in store.domains.values() if stored.state == "verified"]
            due = sorted(
                (stored for stored in verified if stored.checked_at <= before), key=lambda each: each.checked_at
            )
            taken = [replace(stored, checked_at=at) for stored in due[:most]]
            store.domains.update({(stored.tenant_id, stored.domain): stored for stored in taken})
            return taken


def _is_taken(store: Store, tenant_id: UUID, domain: str) -> bool:
    others = (stored for stored in store.domains.values() if stored.tenant_id != tenant_id)
    return any(stored.domain == domain and stored.state == "verified" for stored in others)


def _is_open(store: Store, domain: TenantDomain) -> bool:
    tenant = store.tenants[domain.tenant_id]
    return domain.state == "verified" and tenant.is_active and tenant.id not in store.deleted_tenants


def _role_names(store: Store, domain: TenantDomain) -> tuple[str, ...]:
    found = (store.roles.get(role_id) for role_id in domain.role_ids)
    return tuple(sorted(role.name for role in found if role is not None and role.tenant_id in (None, domain.tenant_id)))


@dataclass(frozen=True)
class MemoryJoinRequests:
    access: Access

    async def add(self, request: JoinRequest) -> bool:
        async with self.access.write() as store:
            if _key(request) in store.join_requests:
                return False
            store.join_requests[_key(request)] = request
            return True

    async def page(self, tenant_id: UUID, page: int, page_size: int) -> tuple[list[ListedJoinRequest], int]:
        store = self.access.read()
        waiting = [each for each in store.join_requests.values() if each.tenant_id == tenant_id]
        waiting = [each for each in waiting if each.status == "pending"]
        waiting.sort(key=lambda each: (each.created_at, each.user_id))
        start = (page - 1) * page_size
        owners = [(each, store.users[each.user_id]) for each in waiting[start : start + page_size]]
        return [ListedJoinRequest(each, user.email, user.full_name) for each, user in owners], len(waiting)

    async def lock(self, tenant_id: UUID, user_id: UUID) -> JoinRequest | None:
        return self.access.lock().join_requests.get((tenant_id, user_id))

    async def end(self, tenant_id: UUID, user_id: UUID, status: JoinStatus, at: datetime, by: UUID | None) -> bool:
        async with self.access.write() as store:
            stored = store.join_requests.get((tenant_id, user_id))
            if stored is None or stored.status != "pending":
                return False
            store.join_requests[_key(stored)] = replace(stored, status=status, ended_at=at, ended_by=by)
            return True

    async def roles(self, tenant_id: UUID, role_ids: Sequence[UUID], name: str) -> list[Role]:
        seen = [role for role in self.access.read().roles.values() if role.tenant_id in (None, tenant_id)]
        found = [role for role in seen if role.id in role_ids or role.name == name]
        return sorted(found, key=lambda role: (role.is_system, role.name))


def _key(request: JoinRequest) -> tuple[UUID, UUID]:
    return (request.tenant_id, request.user_id)


@dataclass(frozen=True)
class MemoryFormerMembers:
    access: Access

    async def mark(self, marks: Sequence[AddressMark], at: datetime) -> None:
        async with self.access.write() as store:
            store.former_addresses.update({(mark.tenant_id, mark.digest): at for mark in marks})

    async def tenants_of(self, user_id: UUID) -> list[UUID]:
        return sorted(tenant_id for tenant_id, who in self.access.read().former_members if who == user_id)

    async def is_former(self, tenant_id: UUID, user_id: UUID, digests: Sequence[bytes]) -> bool:
        store = self.access.read()
        marked = any((tenant_id, digest) in store.former_addresses for digest in digests)
        return marked or (tenant_id, user_id) in store.former_members

    async def readmit(self, tenant_id: UUID, user_id: UUID, digests: Sequence[bytes]) -> None:
        async with self.access.write() as store:
            store.former_members.pop((tenant_id, user_id), None)
            for digest in digests:
                store.former_addresses.pop((tenant_id, digest), None)
