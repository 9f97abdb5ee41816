"""Tokens of a session: its user's claims in a tenant, and the token pair."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from msgspec import UNSET, Struct
from msgspec.structs import asdict, replace

from application.identity.login.applications import RegisteredApplications
from application.identity.login.forms import CurrentTenant, LoginResult, RefreshResult, SwitchResult, TokenPair
from application.identity.login.gate import SecondFactorGate
from application.ports.database import Database
from application.ports.identity.sessions import RefreshTokens, SessionTransaction, Tokens
from application.ports.runtime import Clock, Ids
from domain.errors import ReauthenticationRequired, TokenExpired, TokenInvalid
from domain.identity.logins import Login, available, choose_tenant
from domain.identity.tokens import (
    Claims,
    Issue,
    Lifetimes,
    RefreshToken,
    Session,
    claims_for,
    is_expired,
    is_kept_out,
    membership_in,
    unknown_session,
)
from domain.identity.users import AccountState, Membership, days_until_expiration, must_change_password, tenant_name
from domain.scope import EveryTenant, smallest, tenant_subject


class SignInPolicy(Struct, frozen=True, kw_only=True):
    """Settings of sign-in; ``password_max_age_days`` 0 disables the expiry of passwords."""

    lifetimes: Lifetimes
    confirm_email: bool
    password_max_age_days: int
    issuer: str
    audience: str


@dataclass(frozen=True)
class TokenIssuing:
    """Common steps to a token pair: login, refresh, tenant switch and renewed proof."""

    database: Database[SessionTransaction]
    applications: RegisteredApplications
    tokens: Tokens
    refresh_tokens: RefreshTokens
    clock: Clock
    ids: Ids
    policy: SignInPolicy
    gate: SecondFactorGate

    async def session(self, session_id: UUID) -> tuple[Session, AccountState]:
        # Read session and account in one snapshot: a concurrent logout is either visible here or revokes the issued
        # tokens.
        async with self.database.read_only(EveryTenant()) as read:
            found = await read.sessions.with_account_state(session_id)
        if found is None:
            raise unknown_session(session_id, self.clock.now(), self.policy.lifetimes)
        return found

    async def with_tenant(self, login: Login) -> Login:
        """Return the login with its tenant. Raises Forbidden for a tenant that the user may not enter."""
        state = await self.with_visited_tenant(login.state, login.preferred)
        return replace(login, state=state, choice=choose_tenant(state.memberships, login.preferred))

    async def with_visited_tenant(self, state: AccountState, wanted: UUID | None) -> AccountState:
        own = state.memberships
        if wanted is None or not state.is_super_admin or any(held.tenant_id == wanted for held in own):
            return state
        # A super-admin may enter any tenant. Read the version first: if the tenant is closed before the second read,
        # the token is revoked.
        async with self.database.read_only(EveryTenant()) as read:
            versions = await read.token_versions.of([tenant_subject(wanted)])
            visit = await read.memberships.visit(wanted, state.user.created_at)
        if visit is None:
            return state
        return replace(state, memberships=(*own, visit), token_versions={**state.token_versions, **versions})

    async def issued_claims(
        self, session: Session, state: AccountState, wanted: UUID | None, now: datetime, *, stored: Session
    ) -> Claims:
        state = await self.with_visited_tenant(state, wanted)
        membership = membership_in(state.memberships, wanted) if wanted else None
        return await self.authorised_claims(state, membership, session, now, stored=stored)

    def rotated(self, session: Session, tenant_id: UUID | None, now: datetime) -> Session:
        return replace(session, counter=session.counter + 1, tenant_id=tenant_id, rotated_at=now)

    async def rotate(self, session: Session, tenant_id: UUID | None, now: datetime) -> Session:
        rotated = self.rotated(session, tenant_id, now)
        async with self.database.autocommit(EveryTenant()) as tx:
            # Compare-and-swap on the counter: one of parallel refreshes wins, the others get its result.
            if await tx.sessions.rotate(rotated, seen=session.counter):
                return rotated
            winner = await tx.sessions.by_id(session.id)
        if winner is None or winner.ended_at is not None:
            raise TokenInvalid("The session has ended.")
        return winner

    async def authorised_claims(
        self,
        state: AccountState,
        membership: Membership | None,
        session: Session,
        now: datetime,
        *,
        stored: Session | None,
    ) -> Claims:
        """Return the claims for the changed session. ``stored`` is the current session, None for a new one.

        Raises TokenExpired for a session at its maximum age, ReauthenticationRequired if an administrator excluded the
        session from the tenant, and the errors of the gate and of the application's check.
        """
        issue = Issue(
            issuer=self.policy.issuer,
            audience=self.policy.audience,
            jti=self.ids.new(),
            lifetimes=self.policy.lifetimes,
        )
        # Security: every endpoint that issues a token pair calls this function.
        if stored is not None:
            self._ensure_living(stored, state, membership, now)
            # Security: an administrator ended this tenant's sessions during the use of another tenant, so require a new
            # proof.
            if membership is not None and is_kept_out(session, membership):
                raise ReauthenticationRequired(int(self.gate.recent.total_seconds()))
        self.gate.ensure_session(state, membership, session, now)
        claims = claims_for(state, membership, session, now, issue)
        tenant_id = membership.tenant_id if membership else None
        # Check the application at every issue: it may have been closed, or lost its permission.
        await self.applications.ensure_takes(session.app_id, tenant_id, claims.permissions)
        return claims

    async def ensure_application(self, login: Login) -> None:
        """Raise Forbidden if the application refuses the login's tenant or the user's permissions."""
        login = await self.with_tenant(login)
        membership = login.membership
        roles = login.state.roles_in(membership) if membership else ()
        permissions = smallest(name for role in roles for name in role.permissions)
        await self.applications.ensure_takes(login.app_id, membership.tenant_id if membership else None, permissions)

    def _ensure_living(
        self, stored: Session, state: AccountState, membership: Membership | None, now: datetime
    ) -> None:
        # Check the previous tenant too: a visit elsewhere must not count as use of an unused session.
        for tenant_id in {stored.tenant_id, membership.tenant_id if membership else None}:
            if is_expired(stored, now, self.gate.lifetimes(state, tenant_id, self.policy.lifetimes)):
                raise TokenExpired("The session has expired: log in again.")

    def refresh_result(self, claims: Claims, session: Session, now: datetime) -> RefreshResult:
        return RefreshResult(**self._pair(claims, session, now), permissions=claims.permissions)

    def switch_result(self, claims: Claims, session: Session, membership: Membership, now: datetime) -> SwitchResult:
        return SwitchResult(**self._pair(claims, session, now), current_tenant=tenant_name(membership))

    def login_result(self, login: Login, now: datetime) -> LoginResult:
        """Return the result of a login that passed every step."""
        choice, session, claims = login.choice, login.session, login.claims
        assert choice is not None
        assert session is not None
        assert claims is not None
        user, age = login.state.user, self.policy.password_max_age_days
        return LoginResult(
            **self._pair(claims, session, now),
            permissions=claims.permissions,
            is_first_login=session.is_first_login,
            must_change_password=must_change_password(user, age, now),
            days_until_password_expiration=days_until_expiration(user, age, now),
            requires_tenant_selection=choice.requires_tenant_selection,
            current_tenant=current_tenant(choice.membership, claims),
            smart_auto_switched=choice.smart_auto_switched,
            available_tenants=available(login.state) if choice.requires_tenant_selection else UNSET,
            mfa_deadline=login.deadline or UNSET,
            must_add_factor="rec" in session.methods or UNSET,
        )

    def _pair(self, claims: Claims, session: Session, now: datetime) -> dict[str, Any]:
        pair = TokenPair(
            token=self.tokens.sign(claims, now),
            refresh_token=self.refresh_tokens.seal(RefreshToken(session.id, session.counter)),
            expires_at=datetime.fromtimestamp(claims.exp, UTC),
            is_global=claims.tenant_id is UNSET,
            token_type=claims.token_type,
        )
        return asdict(pair)


def current_tenant(membership: Membership | None, claims: Claims) -> CurrentTenant | None:
    if membership is None:
        return None
    return CurrentTenant(
        id=membership.tenant_id,
        name=membership.tenant_name,
        is_default=membership.is_default,
        permissions=claims.permissions,
    )
