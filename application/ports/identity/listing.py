"""Pages of users or tenants."""

from uuid import UUID

from msgspec import Struct


class Listing(Struct, frozen=True, kw_only=True):
    """A page of users or tenants. ``tenant_id`` None lists all; ``role`` is a role's name.

    ``sort_by`` is a Python field name of what is listed; ties are broken by id.
    """

    page: int = 1
    page_size: int = 20
    search: str | None = None
    tenant_id: UUID | None = None
    role: str | None = None
    is_active: bool | None = None
    sort_by: str = "created_at"
    descending: bool = True
