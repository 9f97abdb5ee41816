"""New tokens of a session that exists: refresh, switch of the tenant, and the hand-over to an application."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from application.audit import record_own
from application.identity.login.forms import LoginResult, RefreshForm, RefreshResult, SwitchForm, SwitchResult
from application.identity.login.issuing import TokenIssuing
from application.identity.login.sign_out import SignOut
from application.ports.database import Database
from application.ports.identity.sessions import SessionTransaction
from application.ports.runtime import Clock
from application.retry import retry_on_conflict
from domain.errors import ReauthenticationRequired, SerializationConflict, TokenExpired, TokenInvalid
from domain.identity.logins import Login, TenantChoice
from domain.identity.tokens import (
    Claims,
    RefreshOutcome,
    Session,
    membership_in,
    proved_by,
    refresh_outcome,
    refreshed_once_more,
)
from domain.identity.users import AccountState, Membership, ensure_may_sign_in
from domain.scope import SYSTEM_TENANT_ID, Caller, Client, EveryTenant, event


@dataclass(frozen=True)
class SessionRenewal:
    database: Database[SessionTransaction]
    issuing: TokenIssuing
    sign_out: SignOut
    clock: Clock

    async def refresh(self, form: RefreshForm, client: Client) -> RefreshResult:
        opened = self.issuing.refresh_tokens.open(form.refresh_token)
        if opened is None:
            raise TokenInvalid("The refresh token is not valid.")
        session, state = await self.issuing.session(opened.session_id)
        now = self.clock.now()
        lifetimes = self.issuing.gate.lifetimes(state, session.tenant_id, self.issuing.policy.lifetimes)
        outcome = refresh_outcome(session, opened.counter, now, lifetimes)
        # RFC 9700: a reused refresh token ends the session, since the thief may hold its successor.
        if outcome is RefreshOutcome.STOLEN:
            await self.sign_out.end_stolen(session, state.user, client)
            raise TokenInvalid("The refresh token was used before: the session has been ended.")
        if outcome is RefreshOutcome.EXPIRED:
            raise TokenExpired("The session has expired: log in again.")
        if outcome is RefreshOutcome.DEAD:
            raise TokenInvalid("The session has ended.")
        # Checked at every refresh: a disabled account ends with its current access token.
        ensure_may_sign_in(state.user, confirmation_required=self.issuing.policy.confirm_email)
        carry_on = self._refreshed if outcome is RefreshOutcome.FRESH else self._again
        before = session.tenant_id
        try:
            session, claims = await carry_on(session, state, form.tenant_id, now)
        except ReauthenticationRequired:
            # Without an access token that lives there is no other way to show it: the login leads to the enrolment.
            raise TokenExpired("The session has expired: log in again.") from None
        if session.tenant_id != before:
            async with self.database.transaction(EveryTenant()) as tx:
                await record_own(tx, "tenant.switched", state.user.id, session.tenant_id, client, now)
        return self.issuing.refresh_result(claims, session, now)

    @retry_on_conflict
    async def switch_tenant(self, caller: Caller, form: SwitchForm, client: Client) -> SwitchResult:
        session, state = await self.issuing.session(caller.session_id)
        now = self.clock.now()
        ensure_may_sign_in(state.user, confirmation_required=self.issuing.policy.confirm_email)
        state = await self.issuing.with_visited_tenant(state, form.tenant_id)
        membership = membership_in(state.memberships, form.tenant_id)
        # Before the rotation: a switch that is refused must leave the refresh token usable.
        claims = await self.issuing.authorised_claims(state, membership, session, now, stored=session)
        session = await self.issuing.rotate(session, membership.tenant_id, now)
        if session.tenant_id != membership.tenant_id:
            # Another refresh or switch won the race: this switch is retried on the session as it is now.
            raise SerializationConflict
        async with self.database.transaction(EveryTenant()) as tx:
            await record_own(tx, "tenant.switched", caller.user_id, membership.tenant_id, client, self.clock.now())
        return self.issuing.switch_result(claims, session, membership, now)

    @retry_on_conflict
    async def enter(
        self, session_id: UUID, tenant_id: UUID | None, methods: tuple[str, ...], client: Client
    ) -> SwitchResult | RefreshResult:
        """Takes a session into the tenant that it was kept out of, once its user has shown ``methods`` as well.

        Without a tenant it goes on choosing one.
        """
        session, state = await self.issuing.session(session_id)
        if session.ended_at is not None:
            raise TokenInvalid("The session has ended.")
        now = self.clock.now()
        ensure_may_sign_in(state.user, confirmation_required=self.issuing.policy.confirm_email)
        state = await self.issuing.with_visited_tenant(state, tenant_id)
        membership = membership_in(state.memberships, tenant_id) if tenant_id else None
        renewed = proved_by(self.issuing.rotated(session, tenant_id, now), methods, now)
        claims = await self.issuing.authorised_claims(state, membership, renewed, now, stored=session)
        async with self.database.transaction(EveryTenant()) as tx:
            # Another refresh or switch won the race: this one is retried on the session as it is now.
            if not await tx.sessions.rotate(renewed, seen=session.counter):
                raise SerializationConflict
            await record_own(tx, "tenant.switched", state.user.id, tenant_id, client, self.clock.now())
        if membership is None:
            return self.issuing.refresh_result(claims, renewed, now)
        return self.issuing.switch_result(claims, renewed, membership, now)

    @retry_on_conflict
    async def resume(self, session_id: UUID, client: Client) -> LoginResult:
        """New tokens of the session, as the result of a login; the tokens of before are used up.

        Raises TokenInvalid and TokenExpired for a session that has ended, ReauthenticationRequired for one that was
        proved too long ago to set up the factor that is required, and what a login raises.
        """
        session, state = await self.issuing.session(session_id)
        now = self.clock.now()
        if session.ended_at is not None:
            raise TokenInvalid
        ensure_may_sign_in(state.user, confirmation_required=self.issuing.policy.confirm_email)
        state = await self.issuing.with_visited_tenant(state, session.tenant_id)
        membership = membership_in(state.memberships, session.tenant_id) if session.tenant_id else None
        login = Login(
            state=state,
            methods=session.methods,
            preferred=session.tenant_id,
            app_id=session.app_id,
            choice=_choice(state, membership),
            session=session,
        )
        # Security: as strict as a login, so that no session of before a second factor becomes one of an application.
        login = self.issuing.gate.passed(login, now)
        rotated = self.issuing.rotated(session, session.tenant_id, now)
        claims = await self.issuing.authorised_claims(state, membership, rotated, now, stored=session)
        await self._store_exchange(session, rotated, client)
        return self.issuing.login_result(replace(login, session=rotated, claims=claims), now)

    async def _store_exchange(self, session: Session, rotated: Session, client: Client) -> None:
        async with self.database.transaction(EveryTenant()) as tx:
            # The pages' own refresh token is used up by this: one holder is left.
            if not await tx.sessions.rotate(rotated, seen=session.counter):
                raise SerializationConflict
            line = event("code.exchanged", session.user_id, session.id, client, rotated.rotated_at)
            await tx.audit.add(session.tenant_id or SYSTEM_TENANT_ID, line)

    async def _refreshed(
        self, session: Session, state: AccountState, asked: UUID | None, now: datetime
    ) -> tuple[Session, Claims]:
        wanted = asked or session.tenant_id
        claims = await self.issuing.issued_claims(session, state, wanted, now, stored=session)
        rotated = await self.issuing.rotate(session, wanted, now)
        if rotated.counter != session.counter + 1:
            raise refreshed_once_more()
        # Another refresh won the race: this one answers with the winner's successor.
        if rotated.tenant_id != wanted:
            return await self._again(rotated, state, asked, now)
        return rotated, claims

    async def _again(
        self, session: Session, state: AccountState, asked: UUID | None, now: datetime
    ) -> tuple[Session, Claims]:
        """Claims for the successor that another refresh made, and its session, in the tenant that is asked for."""
        wanted = asked or session.tenant_id
        claims = await self.issuing.issued_claims(session, state, wanted, now, stored=session)
        if asked is None or asked == session.tenant_id:
            return session, claims
        # The counter stays: the successor is the same, and its time of grace begins no second time.
        moved = replace(session, tenant_id=asked)
        async with self.database.autocommit(EveryTenant()) as tx:
            if await tx.sessions.rotate(moved, seen=session.counter):
                return moved, claims
            current = await tx.sessions.by_id(session.id)
        if current is None or current.ended_at is not None:
            raise TokenInvalid("The session has ended.")
        raise refreshed_once_more()


def _choice(state: AccountState, membership: Membership | None) -> TenantChoice:
    """The choice of the login, told from what it led to: one tenant is entered without being asked."""
    active: Sequence[Membership] = [held for held in state.memberships if held.tenant_is_active]
    if membership is None:
        return TenantChoice(None, False, len(active) > 1)
    return TenantChoice(membership, len(active) == 1, False)
