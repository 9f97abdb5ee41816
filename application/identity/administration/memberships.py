"""Administration of memberships: users of a tenant and their roles there."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from application.identity.administration.listing import SORTABLE_USERS, Parameters, paging, read_listing
from application.identity.administration.mails_to_strangers import AdministrationTransaction, add_notice
from application.identity.administration.remaining_admins import ensure_admins_remain
from application.identity.administration.user_forms import UserItem, item_fields
from application.identity.joining.leaving import MemberDepartures
from application.ports.database import Database
from application.ports.identity.users import IdentityTransaction, notice
from application.ports.runtime import Clock, Ids
from application.ports.shared_memory import Cache, Revocations, profile_key
from application.retry import retry_on_conflict
from domain.errors import NotFound, ValidationError
from domain.identity.administration import (
    ensure_fit_membership,
    ensure_may_change_owner,
    ensure_may_give,
    ensure_outranks,
    ensure_owner_stays,
    roles_named,
)
from domain.identity.tokens import ensure_fits_token
from domain.identity.users import AccountState, Membership, Role
from domain.scope import Caller, Client, EveryTenant, event, grants_subject


class MemberForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A member and their roles. If ``roles`` is sent, it replaces the member's roles; otherwise they stay."""

    user_id: UUID
    roles: list[str] | UnsetType = UNSET
    is_default: bool | None = None


class MembershipItem(Struct, rename="camel", kw_only=True):
    user_id: UUID
    tenant_id: UUID
    roles: tuple[str, ...]
    is_default: bool
    joined_at: datetime


class MemberItem(UserItem, rename="camel", kw_only=True):
    is_owner: bool


class MemberPage(Struct, rename="camel", kw_only=True):
    items: list[MemberItem]
    total_count: int
    page: int
    page_size: int
    total_pages: int


@dataclass(frozen=True)
class MembershipAdministration:
    database: Database[AdministrationTransaction]
    departures: MemberDepartures
    revocations: Revocations
    cache: Cache
    clock: Clock
    ids: Ids

    async def page(self, caller: Caller, tenant_id: UUID, parameters: Parameters) -> MemberPage:
        _ensure_reaches(caller, tenant_id)
        listing = read_listing(parameters, tenant_id=tenant_id, filters=("role", "isActive"), sortable=SORTABLE_USERS)
        async with self.database.read_only(EveryTenant()) as read:
            await self._ensure_tenant(read, tenant_id)
            listed, total = await read.users.page(listing)
        items = [MemberItem(**item_fields(member.user, member.roles), is_owner=member.is_owner) for member in listed]
        return MemberPage(items=items, **paging(listing, total))

    @retry_on_conflict
    async def save(
        self, caller: Caller, tenant_id: UUID, form: MemberForm, client: Client
    ) -> tuple[MembershipItem, bool]:
        """Create the membership or replace its roles; return the membership and whether it is new.

        Only super-admins may add a user from outside the tenant.
        """
        _ensure_reaches(caller, tenant_id)
        subject = grants_subject(form.user_id)
        async with self.revocations.publishing([subject]) as published, self.database.transaction(EveryTenant()) as tx:
            # Lock first, so that two administrators change a user in sequence.
            await tx.memberships.lock(form.user_id)
            state = await self._state(tx, caller, form.user_id, tenant_id)
            before = state.membership_in(tenant_id)
            if before is not None and before.is_default and form.is_default is False:
                raise ValidationError.on("isDefault", "cannot be false: make another membership the default instead")
            kept: Sequence[Role] = before.roles if before else ()
            roles = kept
            if form.roles is not UNSET:
                roles = await self._new_roles(tx, caller, state, tenant_id, form.roles)
            # Raises NotFound if the tenant was deleted concurrently; otherwise blocks its deletion.
            await tx.memberships.save(
                form.user_id, tenant_id, [role.id for role in roles], form.is_default, self.clock.now()
            )
            if before is not None and {role.id for role in roles} != {role.id for role in kept}:
                told = notice(self.ids.new(), "roles-changed", state.user, self.clock.now(), client=client)
                await add_notice(tx, told, state.user, self.clock.now())
            digests = self.departures.digests(state.user.email_key, tenant_id)
            await tx.former_members.readmit(tenant_id, form.user_id, digests)
            published.update(await tx.token_versions.bump([subject]))
            line = event("membership.changed", caller.user_id, form.user_id, client, self.clock.now())
            await tx.audit.add(tenant_id, line, ("member.joined",) if before is None else None)
            after = (await self._state(tx, caller, form.user_id, tenant_id)).membership_in(tenant_id)
        await self.cache.drop([profile_key(form.user_id)])
        assert after is not None
        return _item(form.user_id, after), before is None

    @retry_on_conflict
    async def remove(self, caller: Caller, tenant_id: UUID, user_id: UUID, client: Client) -> None:
        _ensure_reaches(caller, tenant_id)
        subject = grants_subject(user_id)
        async with self.revocations.publishing([subject]) as published, self.database.transaction(EveryTenant()) as tx:
            await tx.memberships.lock(user_id)
            await self._ensure_tenant(tx, tenant_id)
            state = await tx.users.state(user_id)
            ended = None if state is None else state.membership_in(tenant_id)
            if state is None or ended is None:
                raise NotFound
            ensure_outranks(caller, state)
            await ensure_admins_remain(tx, caller, state, tenant_id)
            if ended.is_owner:
                ensure_owner_stays(await tx.memberships.lock_owners(tenant_id), user_id)
            ensure_may_change_owner(caller, state, await tx.users.state(caller.user_id))
            await self.departures.release(tx, caller, user_id, tenant_id, self.clock.now())
            await tx.memberships.remove(user_id, tenant_id)
            marks = self.departures.marks(state.user, [tenant_id], caller.user_id)
            await tx.former_members.mark(marks, self.clock.now())
            published.update(await tx.token_versions.bump([subject]))
            await tx.audit.add(tenant_id, event("membership.ended", caller.user_id, user_id, client, self.clock.now()))
        await self.cache.drop([profile_key(user_id)])

    async def _ensure_tenant(self, tx: IdentityTransaction, tenant_id: UUID) -> None:
        if await tx.memberships.visit(tenant_id, self.clock.now()) is None:
            raise NotFound

    async def _state(self, tx: IdentityTransaction, caller: Caller, user_id: UUID, tenant_id: UUID) -> AccountState:
        state = await tx.users.state(user_id)
        # Check the tenant after reading the state: a deleted tenant has no memberships, and the error must name the
        # tenant, not the user.
        await self._ensure_tenant(tx, tenant_id)
        # Security: only a super-admin may learn of users in other tenants.
        if state is None or (state.membership_in(tenant_id) is None and not caller.is_super_admin):
            raise ValidationError.on("userId", "the user does not exist")
        return state

    async def _new_roles(
        self, tx: IdentityTransaction, caller: Caller, state: AccountState, tenant_id: UUID, names: list[str]
    ) -> Sequence[Role]:
        before = state.membership_in(tenant_id)
        roles = roles_named(names, await tx.roles.by_names(tenant_id, names))
        ensure_may_give(caller, roles, before.roles if before else ())
        ensure_fit_membership(roles)
        held = (*roles, *state.roles)
        ensure_fits_token(held, "roles")
        if before is not None and before.is_owner and not {role.id for role in before.roles} <= {r.id for r in roles}:
            ensure_may_change_owner(caller, state, await tx.users.state(caller.user_id))
        await ensure_admins_remain(tx, caller, state, tenant_id, held)
        return roles


def _ensure_reaches(caller: Caller, tenant_id: UUID) -> None:
    # Security: another tenant's path does not exist for a tenant's administrator.
    if not caller.is_super_admin and caller.tenant_id != tenant_id:
        raise NotFound


def _item(user_id: UUID, membership: Membership) -> MembershipItem:
    return MembershipItem(
        user_id=user_id,
        tenant_id=membership.tenant_id,
        roles=tuple(sorted(role.name for role in membership.roles)),
        is_default=membership.is_default,
        joined_at=membership.joined_at,
    )
