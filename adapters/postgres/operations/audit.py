"""The audit trail: the service's role may only add rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

import msgspec

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.changes.identity_entries import log_identity
from application.ports.database import Means
from application.ports.runtime import Ids
from domain.entities.changes.feeds import has_feeds
from domain.entities.changes.identity_events import identity_events
from domain.entities.declaration import Registry
from domain.scope import AuditEvent

_ADD = """
INSERT INTO audit_events (tenant_id, id, actor_id, action, target_id, address, request_id, occurred_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"""
_ADD_TO_EACH = """
INSERT INTO audit_events (tenant_id, id, actor_id, action, target_id, address, request_id, occurred_at)
SELECT tenant_id, id, $3, $4, $5, $6, $7, $8 FROM unnest($1::uuid[], $2::uuid[]) line (tenant_id, id)"""


@dataclass(frozen=True, slots=True)
class PostgresAuditTrail:
    connection: ServiceConnection
    ids: Ids
    registry: Registry

    async def add(self, tenant_id: UUID, event: AuditEvent, events: Means = None) -> None:
        await self.connection.execute(_ADD, tenant_id, self.ids.new(), *msgspec.structs.astuple(event))
        await self._log([tenant_id], event, events)

    async def add_to_each(self, tenants: Iterable[UUID], event: AuditEvent, events: Means = None) -> None:
        lines = {tenant_id: self.ids.new() for tenant_id in sorted(set(tenants))}
        values = msgspec.structs.astuple(event)
        await self.connection.execute(_ADD_TO_EACH, list(lines), list(lines.values()), *values)
        await self._log(list(lines), event, events)

    async def _log(self, tenants: Sequence[UUID], line: AuditEvent, events: Means) -> None:
        found = identity_events(line.action, events)
        if found and has_feeds(self.registry):
            await log_identity(self.connection, tenants, line, found)
