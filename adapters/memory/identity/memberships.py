"""Memberships with their roles, and system roles."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from adapters.memory.entities.state import end_shares
from adapters.memory.identity.state import StoredMembership
from adapters.memory.store import Access, Store
from domain.errors import NotFound
from domain.identity.users import ADMIN, Membership


@dataclass(frozen=True)
class MemoryMemberships:
    access: Access

    async def lock(self, user_id: UUID) -> None:
        self.access.lock().users.get(user_id)

    async def save(
        self, user_id: UUID, tenant_id: UUID, role_ids: Sequence[UUID], is_default: bool | None, at: datetime
    ) -> bool:
        async with self.access.write() as store:
            assert user_id in store.users
            if tenant_id not in store.tenants or tenant_id in store.deleted_tenants:
                raise NotFound
            stored = store.memberships.get((user_id, tenant_id))
            store.memberships[user_id, tenant_id] = StoredMembership(
                user_id=user_id,
                tenant_id=tenant_id,
                is_default=stored is not None and stored.is_default,
                joined_at=stored.joined_at if stored else at,
                role_ids=tuple(dict.fromkeys(role_ids)),
                is_owner=stored is not None and stored.is_owner,
                sessions_ended_at=stored.sessions_ended_at if stored else None,
            )
            if is_default or not any(membership.is_default for membership in _of(store, user_id)):
                _move_default(store, user_id, tenant_id)
            return stored is None

    async def visit(self, tenant_id: UUID, at: datetime) -> Membership | None:
        store = self.access.read()
        tenant = store.tenants.get(tenant_id)
        if tenant is None or tenant_id in store.deleted_tenants:
            return None
        return Membership(
            tenant_id=tenant_id,
            tenant_name=tenant.name,
            tenant_identifier=tenant.identifier,
            tenant_is_active=tenant.is_active,
            is_default=False,
            joined_at=at,
            security=tenant.settings.own_security,
        )

    async def set_system_roles(self, user_id: UUID, role_ids: Sequence[UUID]) -> None:
        async with self.access.write() as store:
            store.system_roles[user_id] = tuple(dict.fromkeys(role_ids))

    async def remove(self, user_id: UUID, tenant_id: UUID) -> bool:
        async with self.access.write() as store:
            removed = store.memberships.pop((user_id, tenant_id), None)
            if removed is not None:
                store.former_members[tenant_id, user_id] = True
                ended = (tenant_id, user_id)
                end_shares(store.tables, lambda share: (share["tenant_id"], share["user_id"]) == ended)
            if removed is not None and removed.is_default:
                mark_oldest(store, user_id)
            return removed is not None

    async def lock_admins(self, tenant_id: UUID) -> list[UUID]:
        store = self.access.lock()
        shipped = {role.id for role in store.roles.values() if role.is_system and role.name == ADMIN}
        members = [membership for membership in store.memberships.values() if membership.tenant_id == tenant_id]
        held = {member.user_id: (*member.role_ids, *store.system_roles.get(member.user_id, ())) for member in members}
        holders = [user_id for user_id, role_ids in held.items() if shipped.intersection(role_ids)]
        return sorted(user_id for user_id in holders if store.users[user_id].is_active)

    async def set_owner(self, user_id: UUID, tenant_id: UUID, is_owner: bool) -> bool:
        async with self.access.write() as store:
            stored = store.memberships.get((user_id, tenant_id))
            if stored is None or stored.is_owner == is_owner:
                return False
            store.memberships[user_id, tenant_id] = replace(stored, is_owner=is_owner)
            return True

    async def lock_owners(self, tenant_id: UUID) -> list[UUID]:
        store = self.access.lock()
        held = [stored for stored in store.memberships.values() if stored.tenant_id == tenant_id and stored.is_owner]
        return sorted(stored.user_id for stored in held if store.users[stored.user_id].is_active)


def mark_oldest(store: Store, user_id: UUID) -> None:
    """Make the user's oldest membership in a non-deleted tenant the default, if any."""
    living = [membership for membership in _of(store, user_id) if membership.tenant_id not in store.deleted_tenants]
    if living:
        oldest = min(living, key=lambda membership: (membership.joined_at, membership.tenant_id))
        _move_default(store, user_id, oldest.tenant_id)


def _of(store: Store, user_id: UUID) -> list[StoredMembership]:
    return [membership for membership in store.memberships.values() if membership.user_id == user_id]


def _move_default(store: Store, user_id: UUID, tenant_id: UUID) -> None:
    for membership in _of(store, user_id):
        store.memberships[user_id, membership.tenant_id] = replace(
            membership, is_default=membership.tenant_id == tenant_id
        )
