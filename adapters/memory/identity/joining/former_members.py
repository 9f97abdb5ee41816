"""Marks of former members."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from adapters.memory.store import Access
from application.ports.identity.users import AddressMark


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
