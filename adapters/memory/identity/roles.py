"""Roles of tenants and of the system, and permissions added by super-admins."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from adapters.memory.store import Access, Store
from application.ports.identity.users import PERMISSION_TAKEN, ROLE_HELD, ListedRole
from domain.errors import Conflict
from domain.identity.users import SUPER_ADMIN, Role
from domain.scope import SYSTEM_TENANT_ID, Permission


@dataclass(frozen=True)
class MemoryRoles:
    access: Access

    async def visible(self, tenant_id: UUID) -> list[ListedRole]:
        store = self.access.read()
        roles = [role for role in store.roles.values() if role.tenant_id in (None, tenant_id)]
        roles.sort(key=lambda role: (role.name, role.is_system))
        return [ListedRole(role, _user_count(store, role.id, tenant_id)) for role in roles]

    async def by_names(self, tenant_id: UUID | None, names: Sequence[str]) -> list[Role]:
        roles = self.access.lock().roles.values()
        found = [role for role in roles if role.name in names and role.tenant_id in (None, tenant_id)]
        return sorted(found, key=lambda role: (role.is_system, role.name))

    async def lock(self, role_id: UUID) -> Role | None:
        return self.access.lock().roles.get(role_id)

    async def add(self, role: Role) -> None:
        async with self.access.write() as store:
            _ensure_name_is_free(store, role)
            store.roles[role.id] = role

    async def save(self, role: Role) -> None:
        async with self.access.write() as store:
            stored = store.roles.get(role.id)
            # Do not check an unchanged name: a system role may have received the same name later.
            if stored is None or stored.name.lower() != role.name.lower():
                _ensure_name_is_free(store, role)
            if stored is not None:
                store.roles[role.id] = role

    async def remove(self, role_id: UUID) -> None:
        async with self.access.write() as store:
            in_tenants = any(role_id in membership.role_ids for membership in store.memberships.values())
            by_users = any(role_id in held for held in store.system_roles.values())
            accounts = store.service_accounts.values()
            if in_tenants or by_users or any(role_id == role.id for account in accounts for role in account.roles):
                raise Conflict(ROLE_HELD)
            store.roles.pop(role_id, None)

    async def held_beside(self, role_id: UUID) -> list[tuple[Role, ...]]:
        store = self.access.read()
        # A token has the roles of one membership and the user's system roles, so combine both.
        grants = [(membership.user_id, membership.role_ids) for membership in store.memberships.values()]
        grants += [(user_id, ()) for user_id in store.system_roles]
        tokens = [frozenset((*role_ids, *store.system_roles.get(user_id, ()))) for user_id, role_ids in grants]
        accounts = store.service_accounts.values()
        tokens += [frozenset(role.id for role in account.roles) for account in accounts]
        sets: set[frozenset[UUID]] = {frozenset(), *(token - {role_id} for token in tokens if role_id in token)}
        return [tuple(store.roles[other] for other in sorted(beside)) for beside in sorted(sets, key=sorted)]

    async def lock_super_admins(self) -> list[UUID]:
        store = self.access.lock()
        shipped = {role.id for role in store.roles.values() if role.is_system and role.name == SUPER_ADMIN}
        holders = [user_id for user_id, held in store.system_roles.items() if shipped.intersection(held)]
        return sorted(user_id for user_id in holders if store.users[user_id].is_active)


def _user_count(store: Store, role_id: UUID, tenant_id: UUID) -> int:
    members = [membership for membership in store.memberships.values() if membership.tenant_id == tenant_id]
    holders = {membership.user_id for membership in members if role_id in membership.role_ids}
    # The administration of ``system`` shows system roles, held outside memberships.
    if tenant_id == SYSTEM_TENANT_ID:
        holders |= {user_id for user_id, held in store.system_roles.items() if role_id in held}
    return len(holders)


def _ensure_name_is_free(store: Store, role: Role) -> None:
    # A name must be unique among the roles of the tenant and of the system.
    others = [other for other in store.roles.values() if other.tenant_id in (None, role.tenant_id)]
    if any(other.id != role.id and other.name.lower() == role.name.lower() for other in others):
        raise Conflict.on("name", "There is a role of this name already.")


@dataclass(frozen=True)
class MemoryPermissions:
    access: Access

    async def all(self) -> list[Permission]:
        return sorted(self.access.read().permissions.values(), key=lambda existing: existing.name)

    async def add(self, permission: Permission) -> None:
        async with self.access.write() as store:
            if any(existing.name == permission.name for existing in store.permissions.values()):
                raise Conflict.on("name", PERMISSION_TAKEN)
            store.permissions[permission.id] = permission
