"""Tenants in the database."""

from datetime import datetime
from typing import Protocol
from uuid import UUID

from application.ports.identity.users import IdentityTransaction, Listing
from domain.identity.users import Tenant


class Tenants(Protocol):
    async def by_id(self, tenant_id: UUID) -> Tenant | None:
        """Return the tenant, or None if it is deleted or unknown."""
        ...

    async def by_identifier(self, identifier: str) -> Tenant | None: ...

    async def lock(self, tenant_id: UUID) -> Tenant | None:
        """Return the tenant as ``by_id`` does, locked until the transaction ends."""
        ...

    async def lock_to_remove(self, tenant_id: UUID) -> Tenant | None:
        """Return the tenant as ``lock`` does, after locking its members' accounts and its domains, in one order."""
        ...

    async def page(self, listing: Listing) -> tuple[list[Tenant], int]:
        """Return the page and the total; search covers name, identifier and domain."""
        ...

    async def add(self, tenant: Tenant) -> None:
        """Store a new tenant. Raises Conflict on ``identifier``."""
        ...

    async def save(self, tenant: Tenant) -> None:
        """Store the changed tenant. Raises Conflict on ``identifier``."""
        ...

    async def remove(self, tenant_id: UUID, at: datetime) -> None:
        """Mark the tenant deleted, free its identifier and remove its domains.

        A user with this tenant as the default gets their oldest membership in another live tenant as the default, if
        any. Memberships and service accounts of the tenant remain, without roles.
        """
        ...


class TenantTransaction(IdentityTransaction, Protocol):
    """Database parts with tenants, their members and the members' rights."""

    @property
    def tenants(self) -> Tenants: ...
