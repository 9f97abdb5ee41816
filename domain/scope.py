"""Who is asking, and whose rows a statement may touch: every way to the store takes a scope, none has a default."""

from uuid import UUID

from msgspec import Struct

from domain.errors import Forbidden
from domain.identity.permissions import allows

SYSTEM_TENANT_ID = UUID("00000000-0000-7000-8000-000000000001")
"""The tenant that the first start makes, home of the super-admins; the same id wherever it runs."""


class OneTenant(Struct, frozen=True):
    """The rows of this tenant, and what is shared by all."""

    id: UUID


class EveryTenant(Struct, frozen=True):
    """The explicit bypass: identity's own work before a tenant is chosen, and audited super-admins."""


Scope = OneTenant | EveryTenant


class Caller(Struct, frozen=True, kw_only=True):
    """Who is asking, as a verified token says; ``issued`` is what must not have risen since."""

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
        """A super-admin in the tenant ``system``: acts on users and roles as such, not in a tenant."""
        return self.is_super_admin and self.tenant_id == SYSTEM_TENANT_ID

    def may(self, permission: str) -> bool:
        return allows(self.permissions, permission)

    def ensure_may(self, permission: str) -> None:
        if not self.may(permission):
            raise Forbidden

    @property
    def tenant(self) -> OneTenant:
        """The scope of the caller's own tenant, which a Global Token does not have."""
        if self.tenant_id is None:
            raise Forbidden
        return OneTenant(self.tenant_id)
