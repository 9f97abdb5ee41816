"""New tokens of an existing session: refresh, tenant switch, and hand-over to an application."""

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
        # Security: end the session on reuse of a refresh token, because a thief may have the token's successor (RFC
        # 9700).
        if outcome is RefreshOutcome.STOLEN:
            await self.sign_out.end_stolen(session, state.user, client)
            raise TokenInvalid("The refresh token was used before: the session has been ended.")
        if outcome is RefreshOutcome.EXPIRED:
            raise TokenExpired("The session has expired: log in again.")
        if outcome is RefreshOutcome.DEAD:
            raise TokenInvalid("The session has ended.")
        # Check at every refresh, so that a disabled account loses access when its current access token expires.
        ensure_may_sign_in(state.user, confirmation_required=self.issuing.policy.confirm_email)
        carry_on = self._refreshed if outcome is RefreshOutcome.FRESH else self._again
        before = session.tenant_id
        try:
            session, claims = await carry_on(session, state, form.tenant_id, now)
        except ReauthenticationRequired:
            # A refresh has no live access token, so the user cannot enrol the factor here: a new login leads to the
            # enrolment.
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
        # Before the rotation: a refused switch must leave the refresh token usable.
        claims = await self.issuing.authorised_claims(state, membership, session, now, stored=session)
        session = await self.issuing.rotate(session, membership.tenant_id, now)
        if session.tenant_id != membership.tenant_id:
            # A concurrent refresh or switch won: retry on the current session.
            raise SerializationConflict
        async with self.database.transaction(EveryTenant()) as tx:
            await record_own(tx, "tenant.switched", caller.user_id, membership.tenant_id, client, self.clock.now())
        return self.issuing.switch_result(claims, session, membership, now)

    @retry_on_conflict
    async def enter(
        self, session_id: UUID, tenant_id: UUID | None, methods: tuple[str, ...], client: Client
    ) -> SwitchResult | RefreshResult:
        """Let a session enter the tenant that excluded it, after its user has also shown ``methods``.

        Without a tenant, the user of the session still has to choose one.
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
            # A concurrent refresh or switch won: retry on the current session.
            if not await tx.sessions.rotate(renewed, seen=session.counter):
                raise SerializationConflict
            await record_own(tx, "tenant.switched", state.user.id, tenant_id, client, self.clock.now())
        if membership is None:
            return self.issuing.refresh_result(claims, renewed, now)
        return self.issuing.switch_result(claims, renewed, membership, now)

    @retry_on_conflict
    async def resume(self, session_id: UUID, client: Client) -> LoginResult:
        """Return new tokens of the session as a login result; the old tokens become invalid.

        Raises TokenInvalid and TokenExpired for an ended session, ReauthenticationRequired if the last proof is too old
        to set up the required factor, and the errors of a login.
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
        # Security: as strict as a login, so that no session older than the second factor becomes an application's.
        login = self.issuing.gate.passed(login, now)
        rotated = self.issuing.rotated(session, session.tenant_id, now)
        claims = await self.issuing.authorised_claims(state, membership, rotated, now, stored=session)
        await self._store_exchange(session, rotated, client)
        return self.issuing.login_result(replace(login, session=rotated, claims=claims), now)

    async def _store_exchange(self, session: Session, rotated: Session, client: Client) -> None:
        async with self.database.transaction(EveryTenant()) as tx:
            # This rotation consumes the refresh token of the service's pages, so only the application holds a valid
            # one.
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
        # Another refresh won, so answer with the winner's successor.
        if rotated.tenant_id != wanted:
            return await self._again(rotated, state, asked, now)
        return rotated, claims

    async def _again(
        self, session: Session, state: AccountState, asked: UUID | None, now: datetime
    ) -> tuple[Session, Claims]:
        """Session and claims for the successor made by another refresh, in the requested tenant."""
        wanted = asked or session.tenant_id
        claims = await self.issuing.issued_claims(session, state, wanted, now, stored=session)
        if asked is None or asked == session.tenant_id:
            return session, claims
        # Leave the counter unchanged: the refresh token is the same, and its grace period does not restart.
        moved = replace(session, tenant_id=asked)
        async with self.database.autocommit(EveryTenant()) as tx:
            if await tx.sessions.rotate(moved, seen=session.counter):
                return moved, claims
            current = await tx.sessions.by_id(session.id)
        if current is None or current.ended_at is not None:
            raise TokenInvalid("The session has ended.")
        raise refreshed_once_more()


def _choice(state: AccountState, membership: Membership | None) -> TenantChoice:
    """Reconstruct the login's tenant choice."""
    active: Sequence[Membership] = [held for held in state.memberships if held.tenant_is_active]
    if membership is None:
        return TenantChoice(None, False, len(active) > 1)
    return TenantChoice(membership, len(active) == 1, False)
