"""Client applications, as logins read them; their rows belong to the entity ``applications``."""

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
        """The application with exactly this id, closed ones too; None for an unknown or a deleted one."""
        ...


class ApplicationTransaction(Protocol):
    """The part of the database that holds applications."""

    @property
    def applications(self) -> Applications: ...
