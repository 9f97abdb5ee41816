"""Client applications for logins; the entity ``applications`` contains their rows."""

from typing import Protocol
from uuid import UUID

from msgspec import Struct


class ClientApplication(Struct, frozen=True, kw_only=True):
    """A registered application; ``allowed_tenant_ids`` None means all tenants, an empty list none."""

    name: str
    is_active: bool
    allowed_tenant_ids: list[UUID] | None
    required_permission: str | None
    redirect_urls: list[str] | None


class Applications(Protocol):
    async def by_id(self, app_id: str) -> ClientApplication | None:
        """Return the application with exactly this id, even if closed; None if unknown or deleted."""
        ...


class ApplicationTransaction(Protocol):
    """Database part with applications."""

    @property
    def applications(self) -> Applications: ...
