"""Administration of users: those of the caller's tenant, or all users for the tenant ``system``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import UNSET

from application.audit import record, record_changed_account, record_on_member
from application.identity.administration.listing import SORTABLE_USERS, Parameters, paging, read_listing
from application.identity.administration.mails_to_strangers import (
    AdministrationTransaction,
    add_notice,
    add_to_stranger,
)
from application.identity.administration.remaining_admins import ensure_admins_remain
from application.identity.administration.user_forms import (
    NewUserForm,
    RolesForm,
    UserDetail,
    UserForm,
    UserItem,
    UserPage,
    changed_account,
    checked_email,
    ensure_valid,
    item_fields,
)
from application.identity.joining.leaving import MemberDepartures
from application.identity.passwords.password_rules import PasswordRules, names_of
from application.ports.database import Database, Mail
from application.ports.identity.member_references import DepartureTransaction
from application.ports.identity.users import IdentityTransaction, notice
from application.ports.runtime import Clock, Ids, Passwords
from application.ports.shared_memory import Cache, Revocations, profile_key
from application.retry import retry_on_conflict
from domain.errors import FieldError, NotFound, TokenInvalid
from domain.identity.administration import (
    account_rights,
    ensure_may_change_account,
    ensure_may_change_address,
    ensure_may_change_owner,
    ensure_may_give,
    ensure_outranks,
    ensure_owner_stays,
    ensure_super_admin_stays,
    ensure_visible,
    other_roles_in_tokens,
    roles_in_scope,
    roles_named,
)
from domain.identity.tokens import ensure_fits_token
from domain.identity.users import SUPER_ADMIN, AccountState, Role, User, guesses_of, normal_password, tenant_name
from domain.scope import Caller, Client, EveryTenant, grants_subject, user_subject


@dataclass(frozen=True)
class UserAdministration:
    database: Database[AdministrationTransaction]
    departures: MemberDepartures
    revocations: Revocations
    passwords: Passwords
    password_rules: PasswordRules
    cache: Cache
    clock: Clock
    ids: Ids
    recent: timedelta

    async def page(self, caller: Caller, parameters: Parameters) -> UserPage:
        tenant_id = None if caller.acts_for_all else caller.tenant.id
        listing = read_listing(
            parameters, tenant_id=tenant_id, filters=("role", "isActive", "id"), sortable=SORTABLE_USERS
        )
        async with self.database.read_only(EveryTenant()) as read:
            listed, total = await read.users.page(listing)
        return UserPage(
            items=[UserItem(**item_fields(found.user, found.roles)) for found in listed], **paging(listing, total)
        )

    async def get(self, caller: Caller, user_id: UUID) -> UserDetail:
        async with self.database.read_only(EveryTenant()) as read:
            return await self._detail(read, caller, user_id)

    @retry_on_conflict
    async def create(self, caller: Caller, form: NewUserForm, client: Client) -> UserDetail:
        now = self.clock.now()
        ensure_valid(form, await self._password_errors(caller, form, now))
        # Check before the expensive hash, and again in the transaction. Not read_only: reading roles locks them.
        async with self.database.autocommit(EveryTenant()) as tx:
            await self._checked_roles(tx, caller, form)
        user = User(
            id=self.ids.new(),
            email=form.email.strip(),
            email_key=checked_email(form.email),
            full_name=form.full_name,
            password_hash=await self.passwords.hash(normal_password(form.password)),
            email_confirmed=True,
            must_change_password=True,
            password_set_at=now,
            created_at=now,
            updated_at=now,
        )
        async with self.database.transaction(EveryTenant()) as tx:
            roles = await self._checked_roles(tx, caller, form)
            await tx.users.add(user)
            await self._save_roles(tx, caller, user.id, roles, now)
            digests = self.departures.digests(user.email_key, caller.tenant.id)
            await tx.former_members.readmit(caller.tenant.id, user.id, digests)
            if form.send_welcome_email:
                welcome = Mail(id=self.ids.new(), kind="welcome", recipient=user.email_key, at=now)
                await add_to_stranger(tx, welcome, user.email_key, now)
            await record(tx, "user.created", caller, user.id, client, self.clock.now())
            return await self._detail(tx, caller, user.id)

    async def _password_errors(self, caller: Caller, form: NewUserForm, now: datetime) -> tuple[FieldError, ...]:
        async with self.database.read_only(EveryTenant()) as read:
            # Use only the words of the caller's tenant: other tenants of a new account are unknown.
            here = await read.memberships.visit(caller.tenant.id, now)
        tenants = names_of([here] if here else [])
        return await self.password_rules.errors(
            form.password, email=form.email, full_name=form.full_name, field="password", tenants=tenants
        )

    @retry_on_conflict
    async def update(self, caller: Caller, user_id: UUID, form: UserForm, client: Client) -> UserDetail:
        """Change the account. Raises ReauthenticationRequired if callers change their address with an old proof."""
        now = self.clock.now()
        async with (
            self.revocations.publishing(_subjects(user_id)) as published,
            self.database.transaction(EveryTenant()) as tx,
        ):
            state = await self._locked_state(tx, caller, user_id)
            if form.roles is not UNSET:
                is_changed = await self._replace_roles(tx, caller, state, form.roles, "roles", client)
                if is_changed:
                    await record(tx, "user.roles-changed", caller, user_id, client, self.clock.now())
            changed = changed_account(state.user, form, now)
            if changed is not None:
                ensure_may_change_account(caller, state)
                # Security: a stolen token must not suffice to move the account to another address.
                if changed.email != state.user.email and user_id == caller.user_id:
                    caller.ensure_recent(now, self.recent)
                if changed.email_key != state.user.email_key:
                    ensure_may_change_address(caller, state)
                if (changed.email, changed.is_active) != (state.user.email, state.user.is_active):
                    ensure_may_change_owner(caller, state, await tx.users.state(caller.user_id))
                await tx.users.save(changed, state.user)
                await self._mail_new_address(tx, state.user, changed, client)
                await record_changed_account(tx, caller, state, changed, client, self.clock.now())
            published.update(await self._revoke_tokens(tx, caller, state, form, now))
            detail = await self._detail(tx, caller, user_id)
        await self.cache.drop([profile_key(user_id)])
        return detail

    @retry_on_conflict
    async def assign_roles(self, caller: Caller, user_id: UUID, form: RolesForm, client: Client) -> UserDetail:
        """Replace the roles of the membership in the caller's tenant, or, from ``system``, the system roles."""
        subject = grants_subject(user_id)
        async with self.revocations.publishing([subject]) as published, self.database.transaction(EveryTenant()) as tx:
            state = await self._locked_state(tx, caller, user_id)
            await self._replace_roles(tx, caller, state, form.role_names, "roleNames", client)
            published.update(await tx.token_versions.bump([subject]))
            await record(tx, "user.roles-changed", caller, user_id, client, self.clock.now())
            detail = await self._detail(tx, caller, user_id)
        await self.cache.drop([profile_key(user_id)])
        return detail

    @retry_on_conflict
    async def delete(self, caller: Caller, user_id: UUID, client: Client) -> None:
        """End the membership in the caller's tenant; delete the account if nothing else belongs to it."""
        now = self.clock.now()
        async with (
            self.revocations.publishing(_subjects(user_id)) as published,
            self.database.transaction(EveryTenant()) as tx,
        ):
            state = await self._locked_state(tx, caller, user_id)
            ensure_outranks(caller, state)
            subjects = await self._remove(tx, caller, state)
            is_gone = user_subject(user_id) in subjects
            published.update(await tx.token_versions.bump(subjects, ended_at=now if is_gone else None))
            await record_on_member(tx, "user.deleted", caller, state, client, self.clock.now())
        await self.cache.drop([profile_key(user_id)])

    async def _remove(self, tx: DepartureTransaction, caller: Caller, state: AccountState) -> Sequence[str]:
        user_id = state.user.id
        await ensure_admins_remain(tx, caller, state, caller.tenant.id)
        elsewhere = [membership for membership in state.memberships if membership.tenant_id != caller.tenant_id]
        leaves_one = not caller.acts_for_all and bool(elsewhere or state.roles)
        ended = [here for here in _owned(state) if not leaves_one or here == caller.tenant_id]
        for tenant_id in ended:
            ensure_owner_stays(await tx.memberships.lock_owners(tenant_id), user_id)
        ensure_may_change_owner(caller, state, await tx.users.state(caller.user_id))
        if leaves_one:
            await self.departures.release(tx, caller, user_id, caller.tenant.id, self.clock.now())
            await tx.memberships.remove(user_id, caller.tenant.id)
            marks = self.departures.marks(state.user, [caller.tenant.id], caller.user_id)
            await tx.former_members.mark(marks, self.clock.now())
            return (grants_subject(user_id),)
        if state.is_super_admin:
            ensure_super_admin_stays(await tx.roles.lock_super_admins(), user_id)
        await self.departures.release(tx, caller, user_id, None, self.clock.now())
        left = await tx.former_members.tenants_of(user_id)
        marks = self.departures.marks_of_account(state, left, caller.user_id)
        await tx.former_members.mark(marks, self.clock.now())
        await tx.users.remove(user_id)
        return _subjects(user_id)

    @retry_on_conflict
    async def unlock(self, caller: Caller, user_id: UUID, client: Client) -> UserDetail:
        """Remove the account's lock for every network; the lock for wrong second-factor codes remains."""
        async with self.database.transaction(EveryTenant()) as tx:
            state = await self._account_state(tx, caller, user_id)
            ensure_may_change_account(caller, state)
            await tx.attempts.unlock(state.user.email_key)
            await record_on_member(tx, "user.unlocked", caller, state, client, self.clock.now())
            return await self._detail(tx, caller, user_id)

    async def _mail_new_address(self, tx: AdministrationTransaction, before: User, after: User, client: Client) -> None:
        if before.email_key == after.email_key:
            return
        confirmation = Mail(id=self.ids.new(), kind="confirmation", recipient=after.email_key, at=after.updated_at)
        # Security: notify the old address, in case another user made the change.
        told = notice(self.ids.new(), "email-changed", before, after.updated_at, client=client)
        await add_to_stranger(tx, confirmation, after.email_key, after.updated_at)
        await add_notice(tx, told, before, after.updated_at)

    async def _revoke_tokens(
        self, tx: IdentityTransaction, caller: Caller, state: AccountState, form: UserForm, now: datetime
    ) -> Mapping[str, int]:
        user_id = state.user.id
        has_new_address = form.email is not UNSET and form.email.strip() != state.user.email
        # Tokens contain roles and address, so a change of these makes the tokens stale. Disabling the account revokes
        # the tokens and ends the sessions.
        subjects = [grants_subject(user_id)] if has_new_address or form.roles is not UNSET else []
        is_disabled = form.is_active is False and state.user.is_active
        if is_disabled:
            if state.is_super_admin:
                ensure_super_admin_stays(await tx.roles.lock_super_admins() or [user_id], user_id)
            await ensure_admins_remain(tx, caller, state, caller.tenant.id)
            await self._keep_an_owner(tx, caller, state)
            subjects.append(user_subject(user_id))
        versions = await tx.token_versions.bump(subjects) if subjects else {}
        if is_disabled:
            await tx.users.end_sessions(user_id, now)
        return versions

    async def _locked_state(self, tx: IdentityTransaction, caller: Caller, user_id: UUID) -> AccountState:
        # Lock the user, so that the checks still hold.
        await tx.memberships.lock(user_id)
        return await self._account_state(tx, caller, user_id)

    async def _account_state(self, tx: IdentityTransaction, caller: Caller, user_id: UUID) -> AccountState:
        return ensure_visible(caller, await tx.users.state(user_id))

    async def _roles(self, tx: IdentityTransaction, caller: Caller, names: Sequence[str], field: str) -> list[Role]:
        tenant_id = None if caller.acts_for_all else caller.tenant.id
        return roles_named(names, await tx.roles.by_names(tenant_id, names), field)

    async def _checked_roles(self, tx: IdentityTransaction, caller: Caller, form: NewUserForm) -> list[Role]:
        roles = await self._roles(tx, caller, form.roles, "roles")
        ensure_may_give(caller, roles)
        ensure_fits_token(roles, "roles")
        return roles

    async def _replace_roles(
        self,
        tx: AdministrationTransaction,
        caller: Caller,
        state: AccountState,
        names: Sequence[str],
        field: str,
        client: Client,
    ) -> bool:
        """Replace the roles in the caller's tenant; return False without a change."""
        roles = await self._roles(tx, caller, names, field)
        ensure_may_give(caller, roles, roles_in_scope(caller, state))
        # For each tenant, the new roles and the user's other roles must fit into one token.
        for others in other_roles_in_tokens(caller, state):
            ensure_fits_token((*roles, *others), field)
        if caller.acts_for_all and state.is_super_admin and not any(role.name == SUPER_ADMIN for role in roles):
            ensure_super_admin_stays(await tx.roles.lock_super_admins(), state.user.id)
        before, after = ({role.id for role in those} for those in (roles_in_scope(caller, state), roles))
        is_changed = before != after
        # An Admin may give an owner more roles: a super-admin can appoint an owner without any.
        if _owned(state) and not before <= after:
            ensure_may_change_owner(caller, state, await tx.users.state(caller.user_id))
        await ensure_admins_remain(tx, caller, state, caller.tenant.id, (*roles, *state.roles))
        await self._save_roles(tx, caller, state.user.id, roles, self.clock.now())
        if is_changed:
            now = self.clock.now()
            told = notice(self.ids.new(), "roles-changed", state.user, now, client=client)
            await add_notice(tx, told, state.user, now)
        return is_changed

    async def _save_roles(
        self, tx: IdentityTransaction, caller: Caller, user_id: UUID, roles: Sequence[Role], now: datetime
    ) -> None:
        role_ids = [role.id for role in roles]
        if caller.acts_for_all:
            await tx.memberships.set_system_roles(user_id, role_ids)
        else:
            try:
                await tx.memberships.save(user_id, caller.tenant.id, role_ids, None, now)
            except NotFound:
                # The caller's tenant was deleted concurrently, and the token is revoked.
                raise TokenInvalid from None

    async def _keep_an_owner(self, tx: IdentityTransaction, caller: Caller, state: AccountState) -> None:
        # A super-admin may disable any user and make another owner.
        for tenant_id in () if caller.is_super_admin else _owned(state):
            ensure_owner_stays(await tx.memberships.lock_owners(tenant_id), state.user.id)

    async def _detail(self, tx: IdentityTransaction, caller: Caller, user_id: UUID) -> UserDetail:
        state = await self._account_state(tx, caller, user_id)
        user = state.user
        locked_until = await tx.attempts.locked_until(user.email_key, self.clock.now())
        factors_locked_until = await tx.attempts.locked_until(guesses_of(user.id), self.clock.now())
        sees_all = caller.acts_for_all or caller.is_super_admin
        own = await tx.users.state(caller.user_id) if _owned(state) else None  # needed only for owners
        return UserDetail(
            **item_fields(user, (role.name for role in roles_in_scope(caller, state))),
            phone_number=user.phone_number,
            profile_picture_url=user.profile_picture_url,
            email_confirmed=user.email_confirmed,
            is_locked=locked_until is not None,
            locked_until=locked_until,
            second_factors_locked_until=factors_locked_until,
            must_change_password=user.must_change_password,
            last_login_at=user.last_login_at,
            updated_at=user.updated_at,
            tenants=[
                tenant_name(membership)
                for membership in state.memberships
                if sees_all or membership.tenant_id == caller.tenant_id
            ],
            may=account_rights(caller, state, own),
        )


def _subjects(user_id: UUID) -> tuple[str, str]:
    return (user_subject(user_id), grants_subject(user_id))


def _owned(state: AccountState) -> list[UUID]:
    """Tenants that the user owns, in lock order."""
    return sorted(membership.tenant_id for membership in state.memberships if membership.is_owner)
