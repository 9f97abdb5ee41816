"""Factors of the caller: list, add, rename and remove them, and create recovery codes."""

from dataclasses import dataclass
from uuid import UUID

from application.identity.factors.forms import (
    Begun,
    FactorForm,
    FactorItem,
    FactorList,
    FinishForm,
    NewFactorItem,
    NewRecoveryCodes,
    ensure_valid_name,
    factor_item,
    item_fields,
)
from application.identity.factors.registering import FactorRegistration, NewFactor
from application.identity.login.gate import SecondFactorGate
from application.identity.self_service.login_methods import LoginMethodTransaction, ensure_login_method
from application.ports.database import Database
from application.ports.identity.accounts import SocialProviders
from application.ports.identity.factors import FactorTransaction
from application.ports.identity.users import own_notice
from application.ports.runtime import Clock, Ids
from application.retry import retry_on_conflict
from domain.errors import Conflict, NotFound, TokenInvalid
from domain.identity.users import AccountState, FactorKind
from domain.scope import SYSTEM_TENANT_ID, Caller, Client, EveryTenant, ensure_alive, event, user_subject


@dataclass(frozen=True)
class MyFactors:
    database: Database[LoginMethodTransaction]
    providers: SocialProviders
    registration: FactorRegistration
    gate: SecondFactorGate
    clock: Clock
    ids: Ids

    async def all(self, caller: Caller) -> FactorList:
        """Return the caller's factors, oldest first, and the number of unused recovery codes."""
        async with self.database.read_only(EveryTenant()) as read:
            factors = await read.factors.of(caller.user_id)
            left = await read.recovery_codes.left(caller.user_id)
        return FactorList(data=[factor_item(factor) for factor in factors], recovery_codes_left=left)

    async def begin(self, caller: Caller, kind: FactorKind) -> Begun:
        """Begin a factor. Raises Conflict at the maximum number of factors."""
        async with self.database.read_only(EveryTenant()) as read:
            state = await self._state(read, caller)
            factors = await read.factors.of(caller.user_id)
        return await self.registration.begin(kind, state.user, factors)

    async def finish(self, caller: Caller, kind: FactorKind, form: FinishForm, client: Client) -> NewFactorItem:
        """Finish a factor. Raises ValidationError on ``name``, ``state``, ``code`` or ``response``, and Conflict."""
        ensure_valid_name(form.name)
        new = await self.registration.finish(kind, caller.user_id, form)
        codes = await self._store(caller, new, client)
        item = NewFactorItem(**item_fields(new.factor))
        if codes:
            item.recovery_codes = codes
        return item

    @retry_on_conflict
    async def _store(self, caller: Caller, new: NewFactor, client: Client) -> list[str]:
        async with self.database.transaction(EveryTenant()) as tx:
            # Lock, so that of two concurrent enrolments only the first creates recovery codes.
            await tx.memberships.lock(caller.user_id)
            state = await self._state(tx, caller)
            # Security: check the token again. It may have been revoked since, for example by the first proof of the
            # address.
            subject = user_subject(caller.user_id)
            ensure_alive({subject: caller.issued[subject]}, state.token_versions)
            return await self._add(tx, state, new, client)

    @retry_on_conflict
    async def rename(self, caller: Caller, factor_id: UUID, form: FactorForm) -> FactorItem:
        """Rename a factor. Raises ValidationError on ``name``, and NotFound for unknown and other users' factors."""
        ensure_valid_name(form.name)
        async with self.database.transaction(EveryTenant()) as tx:
            if not await tx.factors.rename(caller.user_id, factor_id, form.name):
                raise NotFound
            factors = await tx.factors.of(caller.user_id)
        return next(factor_item(factor) for factor in factors if factor.id == factor_id)

    @retry_on_conflict
    async def remove(self, caller: Caller, factor_id: UUID, client: Client) -> None:
        """Remove a factor; with the last factor, also remove the recovery codes.

        Raises NotFound. Raises Conflict for the last factor if a tenant of the caller, or the service, requires one,
        and for a passkey that is the caller's only way to log in.
        """
        now = self.clock.now()
        async with self.database.transaction(EveryTenant()) as tx:
            await tx.memberships.lock(caller.user_id)
            state = await self._state(tx, caller)
            factors = await tx.factors.of(caller.user_id)
            if not await tx.factors.remove(caller.user_id, factor_id):
                raise NotFound
            removed = next(factor for factor in factors if factor.id == factor_id)
            if removed.credential is not None and removed.credential.uv_initialized:
                await ensure_login_method(tx, state.user, self.providers.names)
            # Without a factor, codes would be a second password.
            if len(factors) == 1:
                self._ensure_not_required(state)
                await tx.recovery_codes.replace(caller.user_id, [])
            await tx.audit.add(SYSTEM_TENANT_ID, event("factor.removed", caller.user_id, factor_id, client, now))
            await tx.outbox.add(own_notice(self.ids.new(), "factor-removed", state.user, client, now))

    @retry_on_conflict
    async def renew_codes(self, caller: Caller, client: Client) -> NewRecoveryCodes:
        """Replace all recovery codes with new ones. Raises Conflict if the user has no second factor."""
        async with self.database.transaction(EveryTenant()) as tx:
            await tx.memberships.lock(caller.user_id)
            state = await self._state(tx, caller)
            if not state.factors.kinds:
                raise Conflict("Recovery codes replace a second factor: set one up first.")
            return await self._renew(tx, state, client)

    async def _add(self, tx: FactorTransaction, state: AccountState, new: NewFactor, client: Client) -> list[str]:
        return await self.registration.add(tx, state.user, new, client)

    async def _renew(self, tx: FactorTransaction, state: AccountState, client: Client) -> NewRecoveryCodes:
        return NewRecoveryCodes(recovery_codes=await self.registration.renew_codes(tx, state.user, client))

    def _ensure_not_required(self, state: AccountState) -> None:
        entered = [None, *(membership for membership in state.memberships if membership.tenant_is_active)]
        if any(self.gate.demand(state, membership).required for membership in entered):
            raise Conflict("A second factor is required of you: set up another one before you remove the last.")

    async def _state(self, tx: FactorTransaction, caller: Caller) -> AccountState:
        state = await tx.users.state(caller.user_id)
        if state is None:
            raise TokenInvalid
        return state
