"""Users who must remain in a tenant, so that its members can administer it without a super-admin."""

from collections.abc import Iterable
from uuid import UUID

from application.ports.identity.users import IdentityTransaction
from domain.errors import Conflict
from domain.identity.administration import ensure_able_owner_stays, ensure_admin_stays, takes_an_admin
from domain.identity.users import AccountState, Role
from domain.scope import Caller


async def ensure_admins_remain(
    tx: IdentityTransaction, caller: Caller, state: AccountState, tenant_id: UUID, left: Iterable[Role] = ()
) -> None:
    """Raise Conflict if the change removes the tenant's last active Admin, or its last owner with the role Admin.

    ``state`` is the account before the change, ``left`` are its roles in the tenant afterwards.
    """
    if not takes_an_admin(caller, state, tenant_id, left):
        return
    admins = await tx.memberships.lock_admins(tenant_id)
    ensure_admin_stays(admins, state.user.id)
    membership = state.membership_in(tenant_id)
    if membership is not None and membership.is_owner:
        owners = await tx.memberships.lock_owners(tenant_id)
        ensure_able_owner_stays(set(admins) & set(owners), state.user.id)


def ensure_able_owner_follows(admins: Iterable[UUID], owners: Iterable[UUID], before: UUID, after: UUID) -> None:
    """Raise Conflict on ``userId`` if ``before`` passes ownership to ``after`` and no owner has the role Admin then."""
    if set(admins).isdisjoint({*owners, after} - {before}):
        raise Conflict.on("userId", "The new owner needs the role Admin: give the role to this member first.")
