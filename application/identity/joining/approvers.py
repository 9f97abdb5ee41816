"""Users who may decide on membership in a tenant, and notices to them."""

from collections.abc import Sequence
from uuid import UUID

from application.ports.identity.users import IdentityTransaction
from domain.identity.users import User


async def approvers(tx: IdentityTransaction, tenant_id: UUID) -> Sequence[User]:
    """Return the tenant's active owners, else its active Admins."""
    told = await tx.memberships.lock_owners(tenant_id)
    states = [await tx.users.state(user_id) for user_id in told or await tx.memberships.lock_admins(tenant_id)]
    return [state.user for state in states if state is not None]
