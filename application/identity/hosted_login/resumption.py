"""A session that its application takes over from the pages on which it began."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from msgspec.structs import replace

from application.identity.login.forms import LoginResult
from application.identity.login.issuing import TokenIssuing
from application.ports.database import Database
from application.ports.identity.sessions import SessionTransaction
from application.retry import retry_on_conflict
from domain.errors import SerializationConflict, TokenInvalid
from domain.identity.logins import Login, TenantChoice
from domain.identity.tokens import Session, membership_in
from domain.identity.users import AccountState, Membership, ensure_may_sign_in
from domain.scope import SYSTEM_TENANT_ID, Client, EveryTenant, event


@dataclass(frozen=True)
class SessionResumption:
    database: Database[SessionTransaction]
    issuing: TokenIssuing

    @retry_on_conflict
    async def resume(self, session_id: UUID, client: Client) -> LoginResult:
        """New tokens of the session, as the result of a login; the tokens of before are used up.

        Raises TokenInvalid and TokenExpired for a session that has ended, ReauthenticationRequired for one that was
        proved too long ago to set up the factor that is required, and what a login raises.
        """
        session, state = await self.issuing.session(session_id)
        now = self.issuing.clock.now()
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
        await self._store(session, rotated, client)
        return self.issuing.login_result(replace(login, session=rotated, claims=claims), now)

    async def _store(self, session: Session, rotated: Session, client: Client) -> None:
        async with self.database.transaction(EveryTenant()) as tx:
            # The pages' own refresh token is used up by this: one holder is left.
            if not await tx.sessions.rotate(rotated, seen=session.counter):
                raise SerializationConflict
            line = event("code.exchanged", session.user_id, session.id, client, rotated.rotated_at)
            await tx.audit.add(session.tenant_id or SYSTEM_TENANT_ID, line)


def _choice(state: AccountState, membership: Membership | None) -> TenantChoice:
    """The choice of the login, told from what it led to: one tenant is entered without being asked."""
    active: Sequence[Membership] = [held for held in state.memberships if held.tenant_is_active]
    if membership is None:
        return TenantChoice(None, False, len(active) > 1)
    return TenantChoice(membership, len(active) == 1, False)
