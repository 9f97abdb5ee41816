"""Access of super-admins to rows of other tenants, each access recorded in the audit trail."""

from dataclasses import dataclass

from application.ports.database import Database
from application.ports.identity.tenants import TenantTransaction
from application.ports.runtime import Clock
from domain.errors import Forbidden, NotFound
from domain.scope import SYSTEM_TENANT_ID, Caller, Client, EveryTenant, OneTenant, Scope, event


@dataclass(frozen=True)
class CrossTenantAccess:
    database: Database[TenantTransaction]
    clock: Clock

    async def open(self, caller: Caller, scope: Scope, operation: str, client: Client) -> None:
        """Record the access. Raises Forbidden, and NotFound for an unknown tenant."""
        if not caller.is_super_admin:
            raise Forbidden
        tenant_id = scope.id if isinstance(scope, OneTenant) else None
        line = event(f"tenant-scope.{operation}", caller.user_id, tenant_id, client, self.clock.now())
        # Security: commit the audit entry before reading any row.
        async with self.database.transaction(EveryTenant()) as tx:
            if tenant_id is not None and await tx.tenants.by_id(tenant_id) is None:
                raise NotFound
            await tx.audit.add(tenant_id or SYSTEM_TENANT_ID, line)
