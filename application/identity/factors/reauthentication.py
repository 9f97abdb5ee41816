"""A proof shown anew in a session that lives: what follows may ask for a recent one."""

from dataclasses import dataclass
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from application.identity.factors.forms import Begun
from application.identity.factors.proofs import FactorProofs, Proof
from application.identity.login.authentication import PasswordAuthentication
from application.identity.login.forms import RefreshResult
from application.identity.login.issuing import TokenIssuing
from application.ports.database import Database
from application.ports.identity.sessions import SessionTransaction
from application.ports.runtime import Clock
from application.retry import retry_on_conflict
from domain.errors import Error, SerializationConflict, TokenInvalid, ValidationError
from domain.identity.factors import further
from domain.identity.tokens import Session, proved_by
from domain.identity.typed_codes import DIGITS
from domain.identity.users import AccountState, User, ensure_may_sign_in
from domain.scope import SYSTEM_TENANT_ID, Caller, Client, EveryTenant, event


class ReauthenticationForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The password; or, of an account with a second factor, ``code``, or ``state`` and ``response`` of a passkey."""

    password: str | UnsetType = UNSET
    is_password_encrypted: bool | UnsetType = UNSET
    code: str | UnsetType = UNSET
    state: str | UnsetType = UNSET
    response: dict[str, Any] | UnsetType = UNSET


@dataclass(frozen=True)
class Reauthentication:
    database: Database[SessionTransaction]
    authentication: PasswordAuthentication
    issuing: TokenIssuing
    proofs: FactorProofs
    clock: Clock

    async def ask(self, caller: Caller) -> Begun:
        """Asks for one of the caller's passkeys. Raises ValidationError when there is none."""
        return await self.proofs.ask(caller.user_id)

    async def show(self, caller: Caller, form: ReauthenticationForm, client: Client) -> RefreshResult:
        """Tokens of the same session with a new time of proof; the refresh token of before is used up.

        Who has a second factor shows one; others show the password. Raises ValidationError on the field, and
        AccountLocked: guesses count towards the lock, as at login.
        """
        _, state = await self._session(caller)
        # Security: who has a second factor is not let in by the weaker proof alone.
        if state.factors.kinds:
            methods = await self.proofs.show(state.user, _proof(form), client)
        elif form.password is UNSET:
            raise ValidationError.on("password", "is required: this account has no second factor")
        else:
            await self.authentication.ensure_own(state.user, form.password, form.is_password_encrypted, client)
            methods = ("pwd",)
        try:
            return await self._renew(caller, state.user, methods, client)
        except Error as refusal:
            # The password was right, unless it was changed meanwhile, and was counted as an attempt before its check.
            if "pwd" in methods and not isinstance(refusal, TokenInvalid):
                await self._give_back(state.user, client)
            raise

    @retry_on_conflict
    async def _give_back(self, user: User, client: Client) -> None:
        async with self.database.transaction(EveryTenant()) as tx:
            await tx.attempts.release(user.email_key, client.network)

    @retry_on_conflict
    async def _renew(self, caller: Caller, verified: User, methods: tuple[str, ...], client: Client) -> RefreshResult:
        session, state = await self._session(caller)
        now, user = self.clock.now(), state.user
        # The password may have been changed since it was verified: what was shown is no proof any more.
        if user.password_set_at != verified.password_set_at:
            raise TokenInvalid("The session has ended.")
        proofs = further(session.methods, methods)
        renewed = proved_by(self.issuing.rotated(session, session.tenant_id, now), proofs, now)
        claims = await self.issuing.issued_claims(renewed, state, session.tenant_id, now, stored=session)
        async with self.database.transaction(EveryTenant()) as tx:
            # Guesses of a second factor have a count of their own, and were forgiven with its proof.
            if "pwd" in methods:
                await tx.attempts.forgive(user.email_key, client.network, now)
            # A refresh at the same time won: this one is tried again on the session as it is now.
            if not await tx.sessions.rotate(renewed, seen=session.counter):
                raise SerializationConflict
            line = event("reauthenticated", user.id, user.id, client, now)
            await tx.audit.add(session.tenant_id or SYSTEM_TENANT_ID, line)
        return self.issuing.refresh_result(claims, renewed, now)

    async def _session(self, caller: Caller) -> tuple[Session, AccountState]:
        """The caller's session, which may have ended since the token was judged."""
        session, state = await self.issuing.session(caller.session_id)
        if session.ended_at is not None:
            raise TokenInvalid("The session has ended.")
        ensure_may_sign_in(state.user, confirmation_required=self.issuing.policy.confirm_email)
        return session, state


def _proof(form: ReauthenticationForm) -> Proof:
    """The second factor of the form. Raises ValidationError, also for a password alone."""
    # Half of a passkey's answer is refused by its missing field, and not taken for a missing code.
    if form.state is not UNSET or form.response is not UNSET:
        return Proof(method="passkey", state=form.state, response=form.response)
    if form.code is UNSET:
        raise ValidationError.on("code", "is required: this account has a second factor, or show a passkey")
    # Codes of apps are digits alone, and shorter than a recovery code.
    is_totp = len("".join(form.code.split())) <= DIGITS
    return Proof(method="totp" if is_totp else "recovery", code=form.code)
