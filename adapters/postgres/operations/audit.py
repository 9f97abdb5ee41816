"""The audit trail: rows are added, and the service's role may do nothing else to them."""

from dataclasses import dataclass
from uuid import UUID

import msgspec

from adapters.postgres.connection.connections import ServiceConnection
from application.ports.clock import Ids
from domain.audit import AuditEvent

_COLUMNS = AuditEvent.__struct_fields__
_ADD = f"""
INSERT INTO audit_events (tenant_id, id, {", ".join(_COLUMNS)})
VALUES ($1, $2, {", ".join(f"${n + 3}" for n in range(len(_COLUMNS)))})"""


@dataclass(frozen=True, slots=True)
class PostgresAuditTrail:
    connection: ServiceConnection
    ids: Ids

    async def add(self, tenant_id: UUID, event: AuditEvent) -> None:
        await self.connection.execute(_ADD, tenant_id, self.ids.new(), *msgspec.structs.astuple(event))
