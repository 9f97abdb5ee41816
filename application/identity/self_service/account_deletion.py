"""Deletion of the caller's account."""

from dataclasses import dataclass

from application.identity.administration.remaining_admins import ensure_admins_remain
from application.identity.joining.leaving import MemberDepartures
from application.ports.database import Database
from application.ports.identity.member_references import DepartureTransaction
from application.ports.identity.users import IdentityTransaction
from application.ports.runtime import Clock
from application.ports.shared_memory import Cache, Revocations, profile_key
from application.retry import retry_on_conflict
from domain.errors import TokenInvalid
from domain.identity.administration import (
    ensure_owner_stays,
    ensure_super_admin_stays,
)
from domain.identity.users import AccountState
from domain.scope import SYSTEM_TENANT_ID, Caller, Client, EveryTenant, event, grants_subject, user_subject


@dataclass(frozen=True)
class AccountDeletion:
    database: Database[DepartureTransaction]
    departures: MemberDepartures
    revocations: Revocations
    cache: Cache
    clock: Clock

    @retry_on_conflict
    async def delete(self, caller: Caller, client: Client) -> None:
        """Delete the account with its memberships and sessions.

        Raises Conflict for the last owner or Admin of a tenant, for the last super-admin, and while rows restrict it.
        """
        user_id, now = caller.user_id, self.clock.now()
        subjects = (user_subject(user_id), grants_subject(user_id))
        async with self.revocations.publishing(subjects) as published, self.database.transaction(EveryTenant()) as tx:
            state = await self._locked_state(tx, caller)
            await self._ensure_nobody_is_missed(tx, caller, state)
            await self.departures.release(tx, caller, user_id, None, now)
            left = await tx.former_members.tenants_of(user_id)
            await tx.former_members.mark(self.departures.marks_of_account(state, left, user_id), now)
            await tx.users.remove(user_id)
            published.update(await tx.token_versions.bump(subjects))
            await tx.token_versions.end(subjects, now)
            # Record the deletion in each tenant of the user, for its administrators.
            tenants = {membership.tenant_id for membership in state.memberships} or {SYSTEM_TENANT_ID}
            await tx.audit.add_to_each(tenants, event("account.deleted", user_id, user_id, client, now))
        await self.cache.drop([profile_key(user_id)])

    async def _locked_state(self, tx: IdentityTransaction, caller: Caller) -> AccountState:
        await tx.memberships.lock(caller.user_id)
        state = await tx.users.state(caller.user_id)
        if state is None:
            raise TokenInvalid
        return state

    async def _ensure_nobody_is_missed(self, tx: IdentityTransaction, caller: Caller, state: AccountState) -> None:
        # Process memberships in one order, so that concurrent deletions of accounts do not deadlock.
        for membership in sorted(state.memberships, key=lambda held: held.tenant_id):
            await ensure_admins_remain(tx, caller, state, membership.tenant_id)
            if membership.is_owner:
                ensure_owner_stays(await tx.memberships.lock_owners(membership.tenant_id), caller.user_id)
        if state.is_super_admin:
            ensure_super_admin_stays(await tx.roles.lock_super_admins(), caller.user_id)
