"""Permissions of a user in the caller's tenant, each with the roles that give it."""

from dataclasses import dataclass
from uuid import UUID

from msgspec import Struct

from application.ports.database import Database
from application.ports.identity.users import IdentityTransaction
from domain.errors import NotFound
from domain.identity.users import AccountState, Role
from domain.scope import Caller, EveryTenant


class GivingRole(Struct, rename="camel", kw_only=True):
    id: UUID
    name: str
    is_system: bool


class HeldPermission(Struct, kw_only=True):
    """A permission as in roles, including wildcards: ``read:*`` also gives ``read:products``."""

    name: str
    roles: list[GivingRole]


class HeldPermissionList(Struct, kw_only=True):
    items: list[HeldPermission]


@dataclass(frozen=True)
class HeldPermissions:
    database: Database[IdentityTransaction]

    async def of(self, caller: Caller, user_id: UUID) -> HeldPermissionList:
        """Return permissions by name. Raises NotFound for a user outside the caller's tenant.

        Needs ``read:users`` and ``read:roles``. Only super-admins see system roles held outside the tenant.
        """
        # The roles of a user need `read:users`; the permissions of these roles need `read:roles`.
        for permission in ("read:users", "read:roles"):
            caller.ensure_may(permission)
        async with self.database.read_only(EveryTenant()) as read:
            state = await read.users.state(user_id)
        if state is None:
            raise NotFound
        by_permission: dict[str, list[GivingRole]] = {}
        for role in _roles(caller, state):
            giving = GivingRole(id=role.id, name=role.name, is_system=role.is_system)
            for permission in role.permissions:
                by_permission.setdefault(permission, []).append(giving)
        held = sorted(by_permission.items())
        return HeldPermissionList(items=[HeldPermission(name=name, roles=roles) for name, roles in held])


def _roles(caller: Caller, state: AccountState) -> list[Role]:
    """Return roles in the caller's tenant, sorted by name. Raises NotFound for non-members, except for ``system``."""
    membership = state.membership_in(caller.tenant_id)
    if membership is None and not caller.acts_for_all:
        raise NotFound
    in_tenant = membership.roles if membership else ()
    beside = state.roles if caller.is_super_admin else ()
    roles = {role.id: role for role in (*in_tenant, *beside)}
    return sorted(roles.values(), key=lambda role: (role.name, role.id))
