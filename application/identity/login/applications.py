"""Restriction of logins to client applications."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from application.ports.database import Database
from application.ports.identity.applications import ApplicationTransaction, ClientApplication
from domain.errors import Forbidden
from domain.scope import EveryTenant, allows


@dataclass(frozen=True)
class RegisteredApplications:
    """Checks the application of a login; ``registration_required`` refuses unregistered applications."""

    database: Database[ApplicationTransaction]
    registration_required: bool

    async def ensure_takes(self, app_id: str | None, tenant_id: UUID | None, permissions: Sequence[str]) -> None:
        """Raise Forbidden unless the application accepts this tenant and a user with these permissions."""
        if app_id is None:
            return
        application = await self.by_id(app_id)
        if application is not None:
            ensure_open(application, tenant_id, permissions)
        elif self.registration_required:
            raise Forbidden("This application is not registered.")

    async def by_id(self, app_id: str) -> ClientApplication | None:
        async with self.database.read_only(EveryTenant()) as read:
            return await read.applications.by_id(app_id)


def ensure_open(application: ClientApplication, tenant_id: UUID | None, permissions: Sequence[str]) -> None:
    """Raise Forbidden if the application is closed; with a tenant, also if it refuses the tenant or the permissions."""
    if not application.is_active:
        raise Forbidden("This application is closed.")
    if tenant_id is None:
        return
    allowed, needed = application.allowed_tenant_ids, application.required_permission
    if allowed is not None and tenant_id not in allowed:
        raise Forbidden("This application is not open to this tenant.")
    if needed is not None and not allows(permissions, needed):
        raise Forbidden("This application asks for a permission that you do not hold in this tenant.")
