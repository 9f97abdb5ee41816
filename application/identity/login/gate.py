"""Gate before every session: whether a login, or a session that enters a tenant, has enough proofs."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from application.ports.identity.sessions import Tickets
from domain.errors import Challenge, Error, MfaEnrolmentRequired, MfaRequired, ReauthenticationRequired
from domain.identity.factors import Demand, Step, demand_of, further, step_needed
from domain.identity.logins import Login, RenewedHash
from domain.identity.tokens import Lifetimes, Session
from domain.identity.users import AccountState, FactorKind, Membership, Method
from domain.scope import user_subject

WAITS = timedelta(minutes=5)
"""Time for the second factor of a login."""

RequiredFor = Literal["none", "super-admins", "all"]


class LoginTicket(Struct, frozen=True, kw_only=True):
    """Content of a ticket for a pending second factor: of a login, or with ``session_id`` of a session entering a
    tenant.

    ``revocations`` is the version of the user's tokens and ``kinds`` are the account's factors at the time of the
    ticket. A changed version invalidates the ticket; for an enrolment, changed factors do too. ``accepted`` are the
    methods that the user may use, or the kinds that the user may enrol. The other fields are those of the login.
    """

    purpose: Literal["challenge", "enrolment"]
    user_id: UUID
    kinds: tuple[FactorKind, ...]
    revocations: int
    accepted: tuple[Method, ...]
    methods: tuple[str, ...]
    by_password: bool
    renewed: RenewedHash | None
    preferred: UUID | None
    app_id: str | None
    session_id: UUID | None

    def login(self, state: AccountState, added: tuple[str, ...]) -> Login:
        """Return the login after its user has also proved the methods ``added``."""
        return Login(
            state=state,
            methods=further(self.methods, added),
            by_password=self.by_password,
            renewed=self.renewed,
            preferred=self.preferred,
            app_id=self.app_id,
        )


@dataclass(frozen=True)
class SecondFactorGate:
    """Decides whether a second factor is needed, for every login and every token pair of a session."""

    tickets: Tickets
    required_for: RequiredFor
    recent: timedelta

    def passed(self, login: Login, now: datetime) -> Login:
        """Return the login with the end of its grace period. Raises MfaRequired, MfaEnrolmentRequired with a ticket."""
        step = step_needed(login.state.factors, self.demand(login.state, login.membership), login.methods, now)
        if step.outcome != "in":
            raise self._refusal(step, login, now)
        return replace(login, deadline=step.deadline)

    def ensure_session(
        self, state: AccountState, membership: Membership | None, session: Session, now: datetime
    ) -> None:
        """Raise MfaRequired or MfaEnrolmentRequired if the session lacks a required second factor.

        Raises ReauthenticationRequired instead of MfaEnrolmentRequired if the session's last proof is older than
        ``recent``. A session that is older than the user's first factor continues if no factor is required.
        """
        demand = self.demand(state, membership)
        # Let the session continue: a new factor does not end sessions on other devices.
        if not demand.required:
            return
        step = step_needed(state.factors, demand, session.methods, now)
        if step.outcome != "in":
            preferred = membership.tenant_id if membership else None
            entering = Login(
                state=state, methods=session.methods, app_id=session.app_id, preferred=preferred, session=session
            )
            raise self._refusal(step, entering, now)

    def demand(self, state: AccountState, membership: Membership | None) -> Demand:
        """Return the second-factor demands of the tenant and the service on this user."""
        by_service = self.required_for == "all" or (self.required_for == "super-admins" and state.is_super_admin)
        if membership is None:
            return Demand(required=by_service)
        return demand_of(membership.security, membership.joined_at, service_requires=by_service)

    def lifetimes(self, state: AccountState, tenant_id: UUID | None, service: Lifetimes) -> Lifetimes:
        """Return the session lifetimes in the tenant. Tenant settings only shorten the service's lifetimes."""
        held = state.membership_in(tenant_id)
        asked = held.security if held is not None else None
        if asked is None:
            return service
        session = timedelta(days=asked.session_days) if asked.session_days else service.session
        unused = timedelta(days=asked.idle_days) if asked.idle_days else service.unused
        return replace(service, session=min(session, service.session), unused=min(unused, service.unused))

    def _refusal(self, step: Step, login: Login, now: datetime) -> Error:
        state, session, is_enrolment = login.state, login.session, step.outcome == "enrolment"
        # Security: a factor gives permanent access, so a token stolen an hour ago must not add one.
        if is_enrolment and session is not None and not self._is_recent(session.authenticated_at, now):
            return ReauthenticationRequired(int(self.recent.total_seconds()))
        waiting = LoginTicket(
            purpose="enrolment" if is_enrolment else "challenge",
            user_id=state.user.id,
            kinds=state.factors.kinds,
            revocations=revocations_of(state),
            accepted=step.methods,
            methods=login.methods,
            by_password=login.by_password,
            renewed=login.renewed,
            preferred=login.preferred,
            app_id=login.app_id,
            session_id=session.id if session else None,
        )
        # Nothing is stored, so an unfinished login leaves no session or row.
        until = now + WAITS
        challenge = Challenge(ticket=self.tickets.seal("mfa", waiting, until), methods=step.methods, expires_at=until)
        return (MfaEnrolmentRequired if is_enrolment else MfaRequired)(challenge)

    def _is_recent(self, proved_at: datetime | None, now: datetime) -> bool:
        return proved_at is not None and now - proved_at <= self.recent


def revocations_of(state: AccountState) -> int:
    """Return the version of the user's tokens; logout, disabling and a new password raise it."""
    return state.token_versions.get(user_subject(state.user.id), 0)
