"""Tenants in the database."""

from datetime import datetime
from typing import Protocol
from uuid import UUID

from application.ports.identity.users import IdentityTransaction, Listing
from domain.identity.users import Tenant


class Tenants(Protocol):
    async def by_id(self, tenant_id: UUID) -> Tenant | None:
        """The tenant, None for a deleted one."""
        ...

    async def by_identifier(self, identifier: str) -> Tenant | None: ...

    async def lock(self, tenant_id: UUID) -> Tenant | None:
        """The tenant as ``by_id`` finds it, locked until the transaction ends."""
        ...

    async def lock_to_remove(self, tenant_id: UUID) -> Tenant | None:
        """The tenant as ``lock`` finds it, behind its members' accounts and its domains, as others lock them."""
        ...

    async def page(self, listing: Listing) -> tuple[list[Tenant], int]:
        """The page and the total; the search looks at name, identifier and domain."""
        ...

    async def add(self, tenant: Tenant) -> None:
        """Stores a new tenant. Raises Conflict on ``identifier``."""
        ...

    async def save(self, tenant: Tenant) -> None:
        """Stores the changed tenant. Raises Conflict on ``identifier``."""
        ...

    async def remove(self, tenant_id: UUID, at: datetime) -> None:
        """Marks the tenant deleted; its identifier is free again.

        Whoever has it as the default gets the oldest membership in another tenant that is not deleted, if there is one.
        Memberships and service accounts of the tenant stay, and hold no roles any more. Its domains are removed.
        """
        ...


class TenantTransaction(IdentityTransaction, Protocol):
    """Parts of the database that hold tenants, their members and their members' rights."""

    @property
    def tenants(self) -> Tenants: ...
