"""Ownership of tenants: transferring and leaving a tenant."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from application.identity.administration.remaining_admins import ensure_able_owner_follows, ensure_admins_remain
from application.identity.joining.leaving import MemberDepartures
from application.ports.database import Database
from application.ports.identity.member_references import DepartureTransaction
from application.ports.identity.users import IdentityTransaction, notice
from application.ports.runtime import Clock, Ids
from application.ports.shared_memory import Cache, Revocations, profile_key
from application.retry import retry_on_conflict
from domain.errors import Conflict, Forbidden, NotFound, ValidationError
from domain.identity.administration import ensure_owner_stays
from domain.identity.users import AccountState
from domain.scope import Caller, Client, EveryTenant, event, grants_subject


class TransferForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    user_id: UUID


class OwnerForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    is_owner: bool


class OwnerItem(Struct, rename="camel", kw_only=True):
    """A membership, and whether the member is an owner."""

    user_id: UUID
    tenant_id: UUID
    roles: tuple[str, ...]
    is_default: bool
    joined_at: datetime
    is_owner: bool


@dataclass(frozen=True)
class Ownership:
    database: Database[DepartureTransaction]
    departures: MemberDepartures
    revocations: Revocations
    cache: Cache
    clock: Clock
    ids: Ids

    @retry_on_conflict
    async def transfer(self, caller: Caller, form: TransferForm, client: Client) -> None:
        """Make an active member the owner in the caller's place; only super-admins can undo it.

        Raises Conflict if the tenant would have no owner with the role Admin.
        """
        now, tenant_id = self.clock.now(), caller.tenant.id
        if form.user_id == caller.user_id:
            raise ValidationError.on("userId", "is your own id: name another member")
        async with self.database.transaction(EveryTenant()) as tx:
            # Lock both accounts in one order, against deadlocks, then the tenant's Admins and owners.
            for user_id in sorted((caller.user_id, form.user_id)):
                await tx.memberships.lock(user_id)
            admins = await tx.memberships.lock_admins(tenant_id)
            owners = await tx.memberships.lock_owners(tenant_id)
            if caller.user_id not in owners:
                raise Forbidden("Only an owner of the tenant can transfer it.")
            before, after = await tx.users.state(caller.user_id), await tx.users.state(form.user_id)
            if after is None or not after.user.is_active or after.membership_in(tenant_id) is None:
                raise ValidationError.on("userId", "is not an active member of this tenant")
            assert before is not None
            ensure_able_owner_follows(admins, owners, caller.user_id, form.user_id)
            await tx.memberships.set_owner(form.user_id, tenant_id, True)
            await tx.memberships.set_owner(caller.user_id, tenant_id, False)
            for state in (before, after):
                await self._notify(tx, state, tenant_id, client, now)
            await tx.audit.add(tenant_id, event("owner.transferred", caller.user_id, form.user_id, client, now))

    @retry_on_conflict
    async def leave(self, caller: Caller, client: Client) -> None:
        """End the caller's membership. Raises Conflict for the last owner and the last Admin."""
        tenant_id, user_id = caller.tenant.id, caller.user_id
        subject = grants_subject(user_id)
        async with self.revocations.publishing([subject]) as published, self.database.transaction(EveryTenant()) as tx:
            await tx.memberships.lock(user_id)
            state = await tx.users.state(user_id)
            membership = state.membership_in(tenant_id) if state else None
            if state is None or membership is None:
                raise NotFound
            await ensure_admins_remain(tx, caller, state, tenant_id)
            if membership.is_owner:
                ensure_owner_stays(await tx.memberships.lock_owners(tenant_id), user_id)
            await self.departures.release(tx, caller, user_id, tenant_id, self.clock.now())
            await tx.memberships.remove(user_id, tenant_id)
            await tx.former_members.mark(self.departures.marks(state.user, [tenant_id], user_id), self.clock.now())
            published.update(await tx.token_versions.bump([subject]))
            line = event("membership.ended", user_id, user_id, client, self.clock.now())
            await tx.audit.add(tenant_id, line)
        await self.cache.drop([profile_key(user_id)])

    @retry_on_conflict
    async def set_owner(
        self, caller: Caller, tenant_id: UUID, user_id: UUID, form: OwnerForm, client: Client
    ) -> OwnerItem:
        """Grant or revoke a member's ownership, for super-admins."""
        now = self.clock.now()
        async with self.database.transaction(EveryTenant()) as tx:
            await tx.memberships.lock(user_id)
            owners = await tx.memberships.lock_owners(tenant_id)
            state = await tx.users.state(user_id)
            membership = state.membership_in(tenant_id) if state else None
            if state is None or membership is None:
                raise NotFound
            if form.is_owner and not state.user.is_active:
                raise Conflict("A disabled account cannot become an owner.")
            if membership.is_owner and not form.is_owner:
                ensure_owner_stays(owners, user_id)
            if await tx.memberships.set_owner(user_id, tenant_id, form.is_owner):
                await self._notify(tx, state, tenant_id, client, now)
                await tx.audit.add(tenant_id, event("owner.changed", caller.user_id, user_id, client, now))
        return OwnerItem(
            user_id=user_id,
            tenant_id=tenant_id,
            roles=tuple(sorted(role.name for role in membership.roles)),
            is_default=membership.is_default,
            joined_at=membership.joined_at,
            is_owner=form.is_owner,
        )

    async def _notify(
        self, tx: IdentityTransaction, state: AccountState, tenant_id: UUID, client: Client, now: datetime
    ) -> None:
        membership = state.membership_in(tenant_id)
        about = membership.tenant_name if membership else ""
        await tx.outbox.add(notice(self.ids.new(), "owner-changed", state.user, now, client=client, about=about))
