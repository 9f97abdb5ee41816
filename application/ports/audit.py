"""The audit trail."""

from typing import Protocol
from uuid import UUID

from domain.audit import AuditEvent


class AuditTrail(Protocol):
    """Lines that are added and never changed."""

    async def add(self, tenant_id: UUID, event: AuditEvent) -> None: ...
