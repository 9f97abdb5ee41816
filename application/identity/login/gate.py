"""The gate before every session: whether a login, or a session that enters a tenant, has shown enough."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from application.ports.identity.sessions import Tickets
from application.ports.identity.users import RenewedHash
from domain.errors import Challenge, Error, MfaEnrolmentRequired, MfaRequired, ReauthenticationRequired
from domain.identity.factors import METHODS, Demand, Step, demand_of, step_needed
from domain.identity.tokens import Lifetimes, Session
from domain.identity.users import AccountState, FactorKind, Membership, Method
from domain.scope import user_subject

WAITS = timedelta(minutes=5)
"""Time for which a login waits for its second factor."""

RequiredFor = Literal["none", "super-admins", "all"]


class Waiting(Struct, frozen=True, kw_only=True):
    """A login that waits, having shown ``methods``; or, with ``session_id``, a session on its way to a tenant.

    ``authenticated_at`` is when that session was proved last.
    """

    methods: tuple[str, ...]
    by_password: bool = False
    renewed: RenewedHash | None = None
    app_id: str | None = None
    preferred: UUID | None = None
    session_id: UUID | None = None
    authenticated_at: datetime | None = None


class Pending(Struct, frozen=True, kw_only=True):
    """The content of a ticket.

    ``revocations`` is the version of the user's tokens and ``kinds`` are the factors of the account at its time: the
    ticket is worth nothing once the version, and for an enrolment the factors, have changed. ``methods`` are those that
    may be shown, or the kinds that may be set up.
    """

    purpose: Literal["challenge", "enrolment"]
    user_id: UUID
    kinds: tuple[FactorKind, ...]
    revocations: int
    waiting: Waiting
    methods: tuple[Method, ...] = METHODS


@dataclass(frozen=True)
class SecondFactorGate:
    """Decides whether a second factor is needed: for every login, and for every pair of tokens of a session."""

    tickets: Tickets
    required_for: RequiredFor
    recent: timedelta

    def ensure_login(
        self, state: AccountState, membership: Membership | None, waiting: Waiting, now: datetime
    ) -> datetime | None:
        """The end of the grace, None without one. Raises MfaRequired and MfaEnrolmentRequired, with a ticket."""
        step = step_needed(state.factors, self.demand(state, membership), waiting.methods, now)
        if step.outcome != "in":
            raise self._refusal(step, state, waiting, now)
        return step.deadline

    def ensure_session(
        self, state: AccountState, membership: Membership | None, session: Session, now: datetime
    ) -> None:
        """Raises MfaRequired and MfaEnrolmentRequired where a second factor is required that the session has not shown.

        Raises ReauthenticationRequired in place of the latter for a session that was proved longer than ``recent`` ago.
        A session of before its user had a factor goes on where none is required.
        """
        demand = self.demand(state, membership)
        # Adding a factor does not throw out the sessions of other devices.
        if not demand.required:
            return
        step = step_needed(state.factors, demand, session.methods, now)
        if step.outcome != "in":
            waiting = Waiting(
                methods=session.methods,
                app_id=session.app_id,
                preferred=membership.tenant_id if membership else None,
                session_id=session.id,
                authenticated_at=session.authenticated_at,
            )
            raise self._refusal(step, state, waiting, now)

    def demand(self, state: AccountState, membership: Membership | None) -> Demand:
        """What the tenant that is entered, and the service, require of this user."""
        by_service = self.required_for == "all" or (self.required_for == "super-admins" and state.is_super_admin)
        if membership is None:
            return Demand(required=by_service)
        return demand_of(membership.security, membership.joined_at, service_requires=by_service)

    def lifetimes(self, state: AccountState, tenant_id: UUID | None, service: Lifetimes) -> Lifetimes:
        """Lifetimes of a session in the tenant, whose settings only shorten the service's."""
        held = state.membership_in(tenant_id)
        asked = held.security if held is not None else None
        if asked is None:
            return service
        session = timedelta(days=asked.session_days) if asked.session_days else service.session
        unused = timedelta(days=asked.idle_days) if asked.idle_days else service.unused
        return replace(service, session=min(session, service.session), unused=min(unused, service.unused))

    def _refusal(self, step: Step, state: AccountState, waiting: Waiting, now: datetime) -> Error:
        is_enrolment = step.outcome == "enrolment"
        # Security: a factor is a way in for good, and no way for a token that was stolen an hour ago.
        if is_enrolment and waiting.session_id is not None and not self._is_recent(waiting.authenticated_at, now):
            return ReauthenticationRequired(int(self.recent.total_seconds()))
        pending = Pending(
            purpose="enrolment" if is_enrolment else "challenge",
            user_id=state.user.id,
            kinds=state.factors.kinds,
            revocations=revocations_of(state),
            waiting=waiting,
            methods=step.methods,
        )
        # Nothing is stored: a login that is never finished leaves no session and no row behind.
        until = now + WAITS
        challenge = Challenge(ticket=self.tickets.seal("mfa", pending, until), methods=step.methods, expires_at=until)
        return (MfaEnrolmentRequired if is_enrolment else MfaRequired)(challenge)

    def _is_recent(self, proved_at: datetime | None, now: datetime) -> bool:
        return proved_at is not None and now - proved_at <= self.recent


def revocations_of(state: AccountState) -> int:
    """Version of the user's tokens: logout, disabling and a changed password raise it, and so end waiting logins."""
    return state.token_versions.get(user_subject(state.user.id), 0)
