"""The audit trail, stored as rows of the entity ``audit-events``."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from msgspec.structs import asdict

from adapters.memory.store import Access, Store
from application.ports.runtime import Ids
from domain.scope import AuditEvent

TABLE = "audit_events"


@dataclass(frozen=True)
class MemoryAuditTrail:
    access: Access
    ids: Ids

    async def add(self, tenant_id: UUID, event: AuditEvent) -> None:
        async with self.access.write() as store:
            note(store, tenant_id, self.ids.new(), event)

    async def add_to_each(self, tenants: Iterable[UUID], event: AuditEvent) -> None:
        async with self.access.write() as store:
            for tenant_id in sorted(set(tenants)):
                note(store, tenant_id, self.ids.new(), event)


def note(store: Store, tenant_id: UUID, row_id: UUID, event: AuditEvent) -> None:
    """Add an entry within a statement of another adapter."""
    rows = store.tables.setdefault(TABLE, {})
    rows[row_id] = {"id": row_id, "tenant_id": tenant_id, **asdict(event)}
