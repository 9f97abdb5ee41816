"""Second step of a login: verification or enrolment of a factor, with the ticket from the first step."""

from dataclasses import dataclass
from typing import Literal

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from application.identity.factors.forms import (
    Begun,
    EnrolFinishForm,
    EnrolForm,
    VerifyForm,
    ensure_valid_name,
    wrong_ticket,
)
from application.identity.factors.proofs import EVERYWHERE, FactorProofs, Proof, UsedNonce
from application.identity.factors.registering import FactorRegistration, NewFactor
from application.identity.login.forms import LoginResult, RefreshResult, SwitchResult
from application.identity.login.gate import LoginTicket, revocations_of
from application.identity.login.renewal import SessionRenewal
from application.identity.login.sign_in import SignIn
from application.ports.database import Database
from application.ports.identity.factors import FactorTransaction
from application.ports.identity.sessions import Ticket, Tickets
from application.ports.runtime import Clock
from application.retry import retry_on_conflict
from domain.errors import AccountLocked, ValidationError
from domain.identity.factors import FACTOR_GUESSES, further
from domain.identity.users import AccountState, Method, guesses_of
from domain.scope import Client, EveryTenant

Completed = LoginResult | SwitchResult | RefreshResult


class EnrolledLogin(LoginResult, rename="camel", kw_only=True):
    """Result of a login with an enrolment."""

    recovery_codes: list[str] | UnsetType = UNSET


class EnrolledSwitch(SwitchResult, rename="camel", kw_only=True):
    """Result of a tenant switch with an enrolment."""

    recovery_codes: list[str] | UnsetType = UNSET


class EnrolledRefresh(RefreshResult, rename="camel", kw_only=True):
    """Result of a refresh with an enrolment."""

    recovery_codes: list[str] | UnsetType = UNSET


Enrolled = EnrolledLogin | EnrolledSwitch | EnrolledRefresh


@dataclass(frozen=True)
class SecondFactor:
    database: Database[FactorTransaction]
    tickets: Tickets
    proofs: FactorProofs
    registration: FactorRegistration
    sign_in: SignIn
    renewal: SessionRenewal
    clock: Clock

    async def verify(self, form: VerifyForm, client: Client) -> Completed:
        """Complete a login or a switch of tenant with a factor.

        Raises ValidationError on ``ticket`` (a wrong factor does not use the ticket up), and on ``method`` if the
        ticket does not allow it. Also raises the errors of FactorProofs and of logins.
        """
        ticket, state = await self._opened(form.ticket, "challenge")
        _ensure_counts(ticket, form.method, "method")
        proof = Proof(method=form.method, code=form.code, state=form.state, response=form.response)
        added = await self.proofs.show(state.user, proof, client, UsedNonce(ticket.id, ticket.until))
        return await self._complete(ticket.content, state, added, client)

    async def enrol(self, form: EnrolForm) -> Begun:
        """Begin a required factor. Raises ValidationError on ``ticket`` and ``kind``."""
        ticket, state = await self._opened(form.ticket, "enrolment")
        _ensure_counts(ticket, form.kind, "kind")
        async with self.database.read_only(EveryTenant()) as read:
            factors = await read.factors.of(state.user.id)
        return await self.registration.begin(form.kind, state.user, factors)

    async def finish_enrolment(self, form: EnrolFinishForm, client: Client) -> Enrolled:
        """Store the factor and complete the login; only success uses the ticket up.

        Raises ValidationError on ``ticket``, ``name``, ``state``, ``code`` or ``response``, AccountLocked after five
        tries, and Forbidden if the login's application would refuse it.
        """
        ticket, state = await self._opened(form.ticket, "enrolment")
        ensure_valid_name(form.name)
        kind = self.registration.begun_kind(form)
        # Security: count it like a guess, so that a ticket gives only five tries.
        await self._reserve(state)
        _ensure_counts(ticket, kind, "code" if kind == "totp" else "response")
        # Check before storing: the following login shows the recovery codes only once.
        await self.sign_in.issuing.ensure_application(ticket.content.login(state, ()))
        new = await self.registration.finish(kind, state.user.id, form)
        codes = await self._store(ticket, state, new, client)
        return _enrolled(await self._complete(ticket.content, state, new.methods, client), codes)

    async def ask(self, ticket: str) -> Begun:
        """Request a passkey for the pending login. Raises ValidationError on ``ticket`` or ``method``."""
        opened, state = await self._opened(ticket, "challenge")
        _ensure_counts(opened, "passkey", "method")
        return await self.proofs.ask(state.user.id)

    async def _opened(
        self, text: str, purpose: Literal["challenge", "enrolment"]
    ) -> tuple[Ticket[LoginTicket], AccountState]:
        opened = self.tickets.open("mfa", text, LoginTicket, self.clock.now())
        if opened is None or opened.content.purpose != purpose:
            raise wrong_ticket("ticket")
        async with self.database.read_only(EveryTenant()) as read:
            state = await read.users.state(opened.content.user_id)
        # Security: a logout, a changed password or a disabled account ends the ticket.
        if state is None or revocations_of(state) != opened.content.revocations:
            raise wrong_ticket("ticket")
        # Security: if the account has got a factor since the ticket, the ticket must not enrol another factor.
        if purpose == "enrolment" and state.factors.kinds != opened.content.kinds:
            raise wrong_ticket("ticket")
        return opened, state

    async def _reserve(self, state: AccountState) -> None:
        async with self.database.autocommit(EveryTenant()) as tx:
            key = guesses_of(state.user.id)
            if not await tx.attempts.reserve(key, EVERYWHERE, FACTOR_GUESSES, self.clock.now()):
                raise AccountLocked("Too many wrong codes: second factors are locked for a while.")

    @retry_on_conflict
    async def _store(
        self, ticket: Ticket[LoginTicket], state: AccountState, new: NewFactor, client: Client
    ) -> list[str]:
        user = state.user
        with_ticket = replace(new, used_nonces=(UsedNonce(ticket.id, ticket.until), *new.used_nonces))
        async with self.database.transaction(EveryTenant()) as tx:
            await tx.memberships.lock(user.id)
            now_there = await tx.users.state(user.id)
            if now_there is None or now_there.factors.kinds != ticket.content.kinds:
                raise wrong_ticket("ticket")
            # Security: check again under the lock, because a first proof of the address ends tickets and sessions.
            if revocations_of(now_there) != ticket.content.revocations:
                raise wrong_ticket("ticket")
            await tx.attempts.forgive(guesses_of(user.id), EVERYWHERE, self.clock.now())
            return await self._add(tx, now_there, with_ticket, client)

    async def _add(self, tx: FactorTransaction, state: AccountState, new: NewFactor, client: Client) -> list[str]:
        return await self.registration.add(tx, state.user, new, client)

    async def _complete(
        self, ticket: LoginTicket, state: AccountState, added: tuple[str, ...], client: Client
    ) -> Completed:
        # The ticket of a tenant switch or a refresh belongs to a live session, so continue that session.
        if ticket.session_id is not None:
            methods = further(ticket.methods, added)
            return await self.renewal.enter(ticket.session_id, ticket.preferred, methods, client)
        async with self.database.read_only(EveryTenant()) as read:
            # Read the state again: the login has added or used a factor, and other checks need the current state.
            now_there = await read.users.state(state.user.id)
        if now_there is None or revocations_of(now_there) != revocations_of(state):
            raise wrong_ticket("ticket")
        return await self.sign_in.complete_login(ticket.login(now_there, added), client)


def _ensure_counts(ticket: Ticket[LoginTicket], method: Method, field: str) -> None:
    """Raises ValidationError for a method that the login does not accept, before anything is consumed."""
    if method not in ticket.content.accepted:
        raise ValidationError.on(field, "is not accepted here: use another method")


def _enrolled(result: Completed, codes: list[str]) -> Enrolled:
    fields = {name: getattr(result, name) for name in result.__struct_fields__}
    if codes:
        fields["recovery_codes"] = codes
    if isinstance(result, LoginResult):
        return EnrolledLogin(**fields)
    return EnrolledSwitch(**fields) if isinstance(result, SwitchResult) else EnrolledRefresh(**fields)
