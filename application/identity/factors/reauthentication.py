"""Reauthentication in a live session, for actions that require a recent proof."""

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
    """Body: the password, or with a second factor ``code``, or a passkey's ``state`` and ``response``."""

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
        """Return a request for one of the caller's passkeys. Raises ValidationError if the caller has no passkey."""
        return await self.proofs.ask(caller.user_id)

    async def show(self, caller: Caller, form: ReauthenticationForm, client: Client) -> RefreshResult:
        """Verify the proof and return tokens of the same session with a new time of proof; use up the old refresh
        token.

        Users with a second factor prove it, other users the password. Raises ValidationError on the field, and
        AccountLocked, because guesses count as at login.
        """
        _, state = await self._session(caller)
        # Security: the password is not enough for a user with a second factor.
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
            # Refund the attempt: the service counted it before the check, and the password was right, unless it was
            # changed concurrently.
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
        # The password changed since its verification: the proof is invalid.
        if user.password_set_at != verified.password_set_at:
            raise TokenInvalid("The session has ended.")
        proofs = further(session.methods, methods)
        renewed = proved_by(self.issuing.rotated(session, session.tenant_id, now), proofs, now)
        claims = await self.issuing.issued_claims(renewed, state, session.tenant_id, now, stored=session)
        async with self.database.transaction(EveryTenant()) as tx:
            # Reset only password guesses here. Second-factor guesses have a separate count, and their proof has reset
            # it.
            if "pwd" in methods:
                await tx.attempts.forgive(user.email_key, client.network, now)
            # A concurrent refresh won: retry on the current session.
            if not await tx.sessions.rotate(renewed, seen=session.counter):
                raise SerializationConflict
            line = event("reauthenticated", user.id, user.id, client, now)
            await tx.audit.add(session.tenant_id or SYSTEM_TENANT_ID, line)
        return self.issuing.refresh_result(claims, renewed, now)

    async def _session(self, caller: Caller) -> tuple[Session, AccountState]:
        """The caller's session. Raises TokenInvalid if it has ended."""
        session, state = await self.issuing.session(caller.session_id)
        if session.ended_at is not None:
            raise TokenInvalid("The session has ended.")
        ensure_may_sign_in(state.user, confirmation_required=self.issuing.policy.confirm_email)
        return session, state


def _proof(form: ReauthenticationForm) -> Proof:
    """Second factor of the form. Raises ValidationError if missing."""
    # The error for an incomplete passkey response must name its missing field, not ``code``.
    if form.state is not UNSET or form.response is not UNSET:
        return Proof(method="passkey", state=form.state, response=form.response)
    if form.code is UNSET:
        raise ValidationError.on("code", "is required: this account has a second factor, or show a passkey")
    # App codes have only digits and are shorter than recovery codes.
    is_totp = len("".join(form.code.split())) <= DIGITS
    return Proof(method="totp" if is_totp else "recovery", code=form.code)
