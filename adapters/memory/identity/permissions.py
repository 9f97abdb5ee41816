"""Permissions added by super-admins."""

from dataclasses import dataclass

from adapters.memory.store import Access
from application.ports.identity.users import PERMISSION_TAKEN
from domain.errors import Conflict
from domain.scope import Permission


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
