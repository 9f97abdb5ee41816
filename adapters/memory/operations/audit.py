"""The audit trail, stored as rows of the entity ``audit-events``."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from msgspec.structs import asdict

from adapters.memory.entities.changes.identity_entries import log_identity
from adapters.memory.store import Access, Store
from application.ports.database import Means
from application.ports.runtime import Ids
from domain.entities.changes.feeds import has_feeds
from domain.entities.changes.identity_events import identity_events
from domain.entities.declaration import Registry
from domain.scope import AuditEvent

TABLE = "audit_events"


@dataclass(frozen=True)
class MemoryAuditTrail:
    access: Access
    ids: Ids
    registry: Registry

    async def add(self, tenant_id: UUID, event: AuditEvent, events: Means = None) -> None:
        await self.add_to_each([tenant_id], event, events)

    async def add_to_each(self, tenants: Iterable[UUID], event: AuditEvent, events: Means = None) -> None:
        each = sorted(set(tenants))
        async with self.access.write() as store:
            for tenant_id in each:
                note(store, tenant_id, self.ids.new(), event)
            self._log(store, each, event, events)

    def _log(self, store: Store, tenants: Sequence[UUID], line: AuditEvent, events: Means) -> None:
        found = identity_events(line.action, events)
        if found and has_feeds(self.registry):
            log_identity(store, tenants, line, found)


def note(store: Store, tenant_id: UUID, row_id: UUID, event: AuditEvent) -> None:
    """Add an entry within a statement of another adapter."""
    rows = store.tables.setdefault(TABLE, {})
    rows[row_id] = {"id": row_id, "tenant_id": tenant_id, **asdict(event)}
