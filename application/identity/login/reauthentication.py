"""A proof shown anew in a session that lives: what follows may ask for a recent one."""

from dataclasses import dataclass

from msgspec import UNSET, Struct, UnsetType

from application.identity.login.forms import RefreshResult
from application.identity.login.issuing import TokenIssuing
from application.ports.database import Database
from application.ports.identity.sessions import Authentication, SessionTransaction
from application.ports.runtime import Clock
from application.retry import retry_on_conflict
from domain.errors import SerializationConflict, TokenInvalid
from domain.identity.tokens import Session, proved_by
from domain.identity.users import AccountState, User, ensure_may_sign_in
from domain.scope import SYSTEM_TENANT_ID, Caller, Client, EveryTenant, event


class ReauthenticationForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    password: str
    is_password_encrypted: bool | UnsetType = UNSET


@dataclass(frozen=True)
class Reauthentication:
    database: Database[SessionTransaction]
    authentication: Authentication
    issuing: TokenIssuing
    clock: Clock

    async def show(self, caller: Caller, form: ReauthenticationForm, client: Client) -> RefreshResult:
        """Tokens of the same session with a new time of proof; the refresh token of before is used up.

        Raises ValidationError on ``password``, and AccountLocked: guesses count towards the lock, as at login.
        """
        _, state = await self._session(caller)
        await self.authentication.ensure_own(state.user, form.password, form.is_password_encrypted, client)
        return await self._renew(caller, state.user, ("pwd",), client)

    @retry_on_conflict
    async def _renew(self, caller: Caller, verified: User, methods: tuple[str, ...], client: Client) -> RefreshResult:
        session, state = await self._session(caller)
        now, user = self.clock.now(), state.user
        # The password may have been changed since it was verified: what was shown is no proof any more.
        if user.password_set_at != verified.password_set_at:
            raise TokenInvalid("The session has ended.")
        renewed = proved_by(self.issuing.rotated(session, session.tenant_id, now), methods, now)
        claims = await self.issuing.issued_claims(renewed, state, session.tenant_id, now)
        async with self.database.transaction(EveryTenant()) as tx:
            await tx.attempts.forgive(user.email_key, client.network, now)
            if not await tx.sessions.rotate(renewed, seen=session.counter):
                raise SerializationConflict
            line = event("reauthenticated", user.id, user.id, client, now)
            await tx.audit.add(session.tenant_id or SYSTEM_TENANT_ID, line)
        return RefreshResult(**self.issuing.token_pair(claims, renewed, now), permissions=claims.permissions)

    async def _session(self, caller: Caller) -> tuple[Session, AccountState]:
        """The caller's session, which may have ended since the token was judged."""
        session, state = await self.issuing.session(caller.session_id)
        if session.ended_at is not None:
            raise TokenInvalid("The session has ended.")
        ensure_may_sign_in(state.user, confirmation_required=self.issuing.policy.confirm_email)
        return session, state
