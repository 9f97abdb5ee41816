"""People who decide who belongs to a tenant, and what they are told."""

from collections.abc import Sequence
from uuid import UUID

from application.ports.identity.users import IdentityTransaction
from domain.identity.users import User


async def approvers(tx: IdentityTransaction, tenant_id: UUID) -> Sequence[User]:
    """The tenant's active owners, or where it has none its active Admins."""
    told = await tx.memberships.lock_owners(tenant_id)
    states = [await tx.users.state(user_id) for user_id in told or await tx.memberships.lock_admins(tenant_id)]
    return [state.user for state in states if state is not None]
