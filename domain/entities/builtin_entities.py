"""The service's own entities, served like declared ones: applications and the audit trail."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from domain.entities.markers import entity, unique
from domain.scope import AuditEvent

Label = Annotated[str, Meta(min_length=1, max_length=100)]


@entity("applications", search=["name"], unique=[unique("app_id")], tenant_owned=False)
class Application(Struct, rename="camel", kw_only=True):
    """A client application, named in ``X-App-Id``.

    ``allowed_tenant_ids`` None means all tenants, an empty list none.
    """

    app_id: Label
    name: Label
    is_active: bool = True
    allowed_tenant_ids: list[UUID] | None = None
    required_permission: Label | None = None


entity("audit-events", soft_delete=False, writable=False, shows_tenant=True, sort="-occurred_at")(AuditEvent)

BUILTIN_ENTITIES = (Application, AuditEvent)
