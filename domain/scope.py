"""The caller, and the scope of tenants that a statement may touch.

Every access to the database takes a scope, and no scope is a default.
"""

from uuid import UUID

from msgspec import Struct

from domain.errors import Forbidden
from domain.identity.permissions import allows

SYSTEM_TENANT_ID = UUID("00000000-0000-7000-8000-000000000001")
"""The tenant of the super-admins, made by the first start with the same id everywhere."""


class OneTenant(Struct, frozen=True):
    """Rows of this tenant and rows shared by all tenants."""

    id: UUID


class EveryTenant(Struct, frozen=True):
    """Rows of all tenants: for identity before a tenant is chosen, and for audited super-admins."""


Scope = OneTenant | EveryTenant


class Caller(Struct, frozen=True, kw_only=True):
    """The user behind a verified token; ``issued`` are the token versions it was issued under."""

    user_id: UUID
    session_id: UUID
    tenant_id: UUID | None
    name: str
    email: str
    roles: tuple[str, ...]
    permissions: tuple[str, ...]
    is_super_admin: bool
    app_id: str | None
    issued: dict[str, int]
    expires_at: int

    @property
    def is_global(self) -> bool:
        return self.tenant_id is None

    @property
    def acts_for_all(self) -> bool:
        """Whether the caller is a super-admin in the tenant ``system``, acting on users of all tenants."""
        return self.is_super_admin and self.tenant_id == SYSTEM_TENANT_ID

    def may(self, permission: str) -> bool:
        return allows(self.permissions, permission)

    def ensure_may(self, permission: str) -> None:
        if not self.may(permission):
            raise Forbidden

    @property
    def tenant(self) -> OneTenant:
        """Scope of the caller's own tenant. Raises Forbidden for a Global Token, which has none."""
        if self.tenant_id is None:
            raise Forbidden
        return OneTenant(self.tenant_id)
