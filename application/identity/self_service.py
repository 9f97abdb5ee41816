"""People and their own accounts: changing what is shown of one, and deleting it."""

from dataclasses import dataclass
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from application.identity.administration.user_forms import UserForm, changed_account
from application.ports.database import Database
from application.ports.identity.users import IdentityTransaction
from application.ports.runtime import Clock
from application.ports.shared_memory import Cache, Revocations
from application.retry import retry_on_conflict
from domain.errors import TokenInvalid
from domain.identity.administration import (
    ensure_admin_stays,
    ensure_owner_stays,
    ensure_super_admin_stays,
    takes_an_admin,
)
from domain.identity.tokens import grants_subject, user_subject
from domain.identity.users import AccountState, profile_key
from domain.scope import SYSTEM_TENANT_ID, Caller, Client, EveryTenant, event


class MyAccountForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Fields sent change, fields left out stay."""

    full_name: str | UnsetType = UNSET
    phone_number: str | None | UnsetType = UNSET
    profile_picture_url: str | None | UnsetType = UNSET


class MyAccount(Struct, rename="camel", kw_only=True):
    id: UUID
    email: str
    full_name: str
    phone_number: str | None
    profile_picture_url: str | None


@dataclass(frozen=True)
class SelfService:
    database: Database[IdentityTransaction]
    revocations: Revocations
    cache: Cache
    clock: Clock

    @retry_on_conflict
    async def update(self, caller: Caller, form: MyAccountForm, client: Client) -> MyAccount:
        """Changes name, telephone number and picture; tokens show the new name from the next refresh on."""
        now = self.clock.now()
        given = {name: getattr(form, name) for name in form.__struct_fields__}
        async with self.database.transaction(EveryTenant()) as tx:
            state = await self._locked_state(tx, caller)
            changed = changed_account(state.user, UserForm(**given), now)
            user = changed or state.user
            if changed is not None:
                await tx.users.save(changed, state.user)
                line = event("account.changed", caller.user_id, caller.user_id, client, now)
                await tx.audit.add(caller.tenant_id or SYSTEM_TENANT_ID, line)
        await self.cache.drop([profile_key(caller.user_id)])
        return MyAccount(
            id=user.id,
            email=user.email,
            full_name=user.full_name,
            phone_number=user.phone_number,
            profile_picture_url=user.profile_picture_url,
        )

    @retry_on_conflict
    async def delete(self, caller: Caller, client: Client) -> None:
        """Deletes the account with its memberships and sessions.

        Raises Conflict for the last owner or Admin of a tenant, and for the last super-admin.
        """
        user_id, now = caller.user_id, self.clock.now()
        subjects = (user_subject(user_id), grants_subject(user_id))
        async with self.revocations.publishing(subjects) as published:
            async with self.database.transaction(EveryTenant()) as tx:
                state = await self._locked_state(tx, caller)
                await self._ensure_nobody_is_missed(tx, caller, state)
                await tx.users.remove(user_id)
                versions = await tx.token_versions.bump(subjects)
                await tx.token_versions.end(subjects, now)
                # Each tenant learns that its member is gone.
                tenants = {membership.tenant_id for membership in state.memberships} or {SYSTEM_TENANT_ID}
                for tenant_id in sorted(tenants):
                    await tx.audit.add(tenant_id, event("account.deleted", user_id, user_id, client, now))
            published.update(versions)
        await self.cache.drop([profile_key(user_id)])

    async def _locked_state(self, tx: IdentityTransaction, caller: Caller) -> AccountState:
        await tx.memberships.lock(caller.user_id)
        state = await tx.users.state(caller.user_id)
        if state is None:
            raise TokenInvalid
        return state

    async def _ensure_nobody_is_missed(self, tx: IdentityTransaction, caller: Caller, state: AccountState) -> None:
        # Tenants in one order, against deadlocks with others who leave several.
        for membership in sorted(state.memberships, key=lambda held: held.tenant_id):
            if takes_an_admin(caller, state, membership.tenant_id):
                ensure_admin_stays(await tx.memberships.lock_admins(membership.tenant_id), caller.user_id)
            if membership.is_owner:
                ensure_owner_stays(await tx.memberships.lock_owners(membership.tenant_id), caller.user_id)
        if state.is_super_admin:
            ensure_super_admin_stays(await tx.roles.lock_super_admins(), caller.user_id)
