"""Lines of the audit trail, written in the transaction of the act that they tell of."""

from datetime import datetime
from typing import Protocol
from uuid import UUID

from application.ports.database import AuditTrail
from domain.scope import SYSTEM_TENANT_ID, Caller, Client, event


class AuditedTransaction(Protocol):
    """The part of the database that holds the audit trail."""

    @property
    def audit(self) -> AuditTrail: ...


async def record(
    tx: AuditedTransaction, action: str, caller: Caller, target: UUID, client: Client, now: datetime
) -> None:
    """Adds what the caller did to ``target`` in the tenant that they act in."""
    await tx.audit.add(caller.tenant.id, event(action, caller.user_id, target, client, now))


async def record_own(
    tx: AuditedTransaction, action: str, user_id: UUID | None, tenant_id: UUID | None, client: Client, now: datetime
) -> None:
    """Adds what a user did to their own account, in the system tenant where no tenant is chosen."""
    await tx.audit.add(tenant_id or SYSTEM_TENANT_ID, event(action, user_id, user_id, client, now))
