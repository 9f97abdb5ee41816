"""The caller of a request and its client, the rows that a statement may touch, and the line of the audit trail."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from domain.errors import Forbidden
from domain.identity.users import allows

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


class Client(Struct, frozen=True, kw_only=True):
    """The client of a request.

    ``network`` is the unit that failed logins are counted and locked by: the address itself for IPv4, its /64 for IPv6
    (``2001:db8:1:2::/64``). ``device`` is the client's own description, its User-Agent.
    """

    address: str
    network: str
    device: str = ""
    request_id: str = ""


class AuditEvent(Struct, rename="camel", kw_only=True, frozen=True):
    """A line of the audit trail: ``actor_id`` did ``action`` on ``target_id``. Kept for ever and never changed."""

    actor_id: UUID | None
    action: Annotated[str, Meta(min_length=1, max_length=100)]
    target_id: UUID | None = None
    address: str | None = None
    request_id: str | None = None
    occurred_at: datetime


def event(action: str, actor: UUID | None, target: UUID | None, client: Client, at: datetime) -> AuditEvent:
    """Builds an event; ``action`` is ``<noun>.<participle>``, such as ``login.failed`` or ``role.changed``."""
    return AuditEvent(
        actor_id=actor,
        action=action,
        target_id=target,
        address=client.address,
        request_id=client.request_id,
        occurred_at=at,
    )
