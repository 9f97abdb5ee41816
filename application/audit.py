"""Audit trail entries, written in the transaction of the recorded action."""

from datetime import datetime
from uuid import UUID

from application.ports.database import AuditedTransaction
from domain.identity.users import AccountState, User
from domain.scope import SYSTEM_TENANT_ID, Caller, Client, event


async def record(
    tx: AuditedTransaction, action: str, caller: Caller, target: UUID, client: Client, now: datetime
) -> None:
    """Add the caller's action on ``target`` to the audit trail of the caller's current tenant."""
    await tx.audit.add(caller.tenant.id, event(action, caller.user_id, target, client, now))


async def record_on_member(
    tx: AuditedTransaction, action: str, caller: Caller, state: AccountState, client: Client, now: datetime
) -> None:
    """Record the caller's action on another account in each audited tenant."""
    tenants = caller.audited_tenants(membership.tenant_id for membership in state.memberships)
    await tx.audit.add_to_each(tenants, event(action, caller.user_id, state.user.id, client, now))


async def record_changed_account(
    tx: AuditedTransaction, caller: Caller, state: AccountState, after: User, client: Client, now: datetime
) -> None:
    """Record the caller's change of another account in each audited tenant; ``state`` is the account before it."""
    tenants = caller.audited_tenants(membership.tenant_id for membership in state.memberships)
    line = event("user.changed", caller.user_id, after.id, client, now)
    await tx.audit.add_to_each(
        tenants, line, ("user.disabled",) if state.user.is_active and not after.is_active else None
    )


async def record_by_mail(
    tx: AuditedTransaction, action: str, state: AccountState, client: Client, now: datetime
) -> None:
    """Add an act by a mailed link to the trail of each of the account's tenants, else of ``system``."""
    tenants = {membership.tenant_id for membership in state.memberships} or {SYSTEM_TENANT_ID}
    await tx.audit.add_to_each(tenants, event(action, state.user.id, state.user.id, client, now))


async def record_own(
    tx: AuditedTransaction, action: str, user_id: UUID | None, tenant_id: UUID | None, client: Client, now: datetime
) -> None:
    """Add a user's action on their own account to the audit trail; use the system tenant if no tenant is chosen."""
    await tx.audit.add(tenant_id or SYSTEM_TENANT_ID, event(action, user_id, user_id, client, now))
