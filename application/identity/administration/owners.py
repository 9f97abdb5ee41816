"""Protection of owners from the other administrators of their tenant, who would take the tenant with the account."""

from application.ports.identity.users import IdentityTransaction
from domain.errors import Forbidden
from domain.identity.users import AccountState
from domain.scope import Caller


async def ensure_may_change_owner(tx: IdentityTransaction, caller: Caller, state: AccountState) -> None:
    """Raises Forbidden for an owner of the caller's tenant.

    Super-admins, other owners and the owner themselves pass.
    """
    if caller.is_super_admin or caller.user_id == state.user.id or not _owns(caller, state):
        return
    own = await tx.users.state(caller.user_id)
    if own is None or not _owns(caller, own):
        raise Forbidden("This user owns the tenant: only owners and super-admins may do this.")


def _owns(caller: Caller, state: AccountState) -> bool:
    return any(held.is_owner and held.tenant_id == caller.tenant_id for held in state.memberships)
