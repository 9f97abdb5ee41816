"""Tokens: claims, versions at issue, and the sessions that renew them."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum
from uuid import UUID

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from domain.errors import Forbidden, TokenExpired, TokenInvalid, ValidationError
from domain.identity.users import AccountState, Membership, Role, User
from domain.scope import (
    GRANTS_BYTES,
    Caller,
    CallerKind,
    TokenType,
    at_issue,
    grants_subject,
    role_subject,
    session_subject,
    smallest,
    tenant_subject,
    user_subject,
)

LEEWAY = timedelta(seconds=5)
"""Tolerated clock difference for the times of tokens and encrypted passwords."""


class Lifetimes(Struct, frozen=True, kw_only=True):
    """Lifetimes of tokens and sessions.

    ``access`` and ``global_access`` are for the two kinds of access token. A session ends at the age ``session``, after
    the time ``unused`` without a refresh, and after ``selection`` without a chosen tenant. A client that lost a
    response may send the same refresh token again within ``grace`` after the refresh.
    """

    access: timedelta
    global_access: timedelta
    unused: timedelta
    session: timedelta
    selection: timedelta
    grace: timedelta


class Session(Struct, frozen=True, kw_only=True):
    """A login session, stored in one row.

    ``counter`` is the counter of the current refresh token; ``tenant_id`` is None before the choice of a tenant.
    ``methods`` are the user's proofs, ``authenticated_at`` is the time of the last proof; older sessions have neither.
    ``is_first_login``: no earlier login of the user succeeded.
    """

    id: UUID
    user_id: UUID
    tenant_id: UUID | None
    counter: int
    created_at: datetime
    rotated_at: datetime
    ended_at: datetime | None = None
    app_id: str | None = None
    address: str = ""
    device: str = ""
    methods: tuple[str, ...] = ()
    authenticated_at: datetime | None = None
    is_first_login: bool = False


SESSIONS_AT_MOST = 100
"""Maximum sessions of a user. A further session ends the user's least recently used session."""


class RefreshToken(Struct, frozen=True):
    """Content of a refresh token. Its sealed form is all that a client needs to refresh."""

    session_id: UUID
    counter: int


class RefreshOutcome(Enum):
    """Result of presenting a refresh token."""

    FRESH = "rotates to its successor"
    REPLAYED = "the last used one, within the grace: the same successor again"
    STOLEN = "used too long ago, or older: the session ends"
    EXPIRED = "the session has reached its age"
    DEAD = "the session was ended, or never got this far"


def refresh_outcome(session: Session, counter: int, now: datetime, lifetimes: Lifetimes) -> RefreshOutcome:
    """Judge a refresh token with this counter (RFC 9700, section 4.14.2: rotation with detection of reuse).

    Example: with ``session.counter == 3``, counter 3 is FRESH, 2 is REPLAYED within the grace and STOLEN after it.
    """
    # After a restore of a backup, the database can lack a counter that this service has sealed in a token.
    if session.ended_at is not None or counter > session.counter:
        return RefreshOutcome.DEAD
    if is_expired(session, now, lifetimes):
        return RefreshOutcome.EXPIRED
    if counter == session.counter:
        return RefreshOutcome.FRESH
    # After a lost response a client resends its last token; any older token is stolen.
    if counter == session.counter - 1 and now < session.rotated_at + lifetimes.grace:
        return RefreshOutcome.REPLAYED
    return RefreshOutcome.STOLEN


def is_expired(session: Session, now: datetime, lifetimes: Lifetimes) -> bool:
    return now >= expires_at(session, lifetimes)


def is_kept_out(session: Session, membership: Membership) -> bool:
    """Return whether the session's proof is older than an administrator's end of all sessions there."""
    ended_at = membership.sessions_ended_at
    return ended_at is not None and (session.authenticated_at or session.created_at) < ended_at


def expires_at(session: Session, lifetimes: Lifetimes) -> datetime:
    """Return the earliest end: unused too long, maximum age reached, or no tenant chosen in time."""
    ends = [session.rotated_at + lifetimes.unused, session.created_at + lifetimes.session]
    if session.tenant_id is None:
        ends.append(session.created_at + lifetimes.selection)
    return min(ends)


def unknown_session(session_id: UUID, now: datetime, lifetimes: Lifetimes) -> TokenExpired | TokenInvalid:
    """Return the error for a session without a row: expired if older than any possible session, else ended."""
    # The first 48 bits of a UUIDv7 are its creation time in milliseconds.
    started_at = datetime.fromtimestamp((session_id.int >> 80) / 1000, UTC)
    if now >= started_at + lifetimes.session:
        return TokenExpired("The session has expired: log in again.")
    return TokenInvalid("The session has ended.")


def refreshed_once_more() -> TokenInvalid:
    """Return the refusal of a refresh token with a used successor. The session continues."""
    return TokenInvalid("The session was refreshed once more meanwhile: use its newest refresh token.")


SELECTOR_SCOPE = "tenant-selector-only"


class Claims(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Payload of an access token, by wire names; ``rev`` and ``ver`` are the token versions at issue."""

    iss: str
    aud: str
    sub: UUID
    jti: UUID
    sid: UUID
    iat: int
    nbf: int
    exp: int
    token_type: TokenType
    permissions: tuple[str, ...]
    roles: tuple[str, ...]
    name: str
    email: str
    rev: int
    ver: dict[str, int]
    tenant_id: UUID | UnsetType = UNSET
    scope: str | UnsetType = UNSET
    app_id: str | UnsetType = UNSET
    super_admin: bool = False
    amr: tuple[str, ...] = ()
    auth_time: int = 0
    kind: CallerKind = "person"


def caller_of(claims: Claims) -> Caller:
    """Return the caller described by verified claims."""
    return Caller(
        user_id=claims.sub,
        session_id=claims.sid,
        tenant_id=None if claims.tenant_id is UNSET else claims.tenant_id,
        name=claims.name,
        email=claims.email,
        roles=claims.roles,
        permissions=claims.permissions,
        is_super_admin=claims.super_admin,
        app_id=None if claims.app_id is UNSET else claims.app_id,
        # The service increases a session's version only when the session ends, so the token need not contain it.
        issued={user_subject(claims.sub): claims.rev, session_subject(claims.sid): 0, **claims.ver},
        expires_at=claims.exp,
        kind=claims.kind,
        methods=claims.amr,
        authenticated_at=claims.auth_time,
    )


def membership_in(memberships: Sequence[Membership], tenant_id: UUID) -> Membership:
    """Return the active membership in the tenant. Raises the same Forbidden, whether or not the tenant exists."""
    for membership in memberships:
        if membership.tenant_id == tenant_id and membership.tenant_is_active:
            return membership
    raise Forbidden("You are not a member of this tenant.")


def claims_for(
    state: AccountState, membership: Membership | None, session: Session, now: datetime, issue: "Issue"
) -> Claims:
    """Return the claims of a session's token: for ``membership``, or only to choose a tenant."""
    roles = state.roles_in(membership) if membership else ()
    lifetime = issue.lifetimes.access if membership else issue.lifetimes.global_access
    user = state.user
    seconds = int(now.timestamp())
    return Claims(
        iss=issue.issuer,
        aud=issue.audience,
        sub=user.id,
        jti=issue.jti,
        sid=session.id,
        iat=seconds,
        nbf=seconds,
        exp=seconds + int(lifetime.total_seconds()),
        token_type="Tenant" if membership else "Global",
        tenant_id=membership.tenant_id if membership else UNSET,
        scope=UNSET if membership else SELECTOR_SCOPE,
        permissions=smallest(name for role in roles for name in role.permissions),
        roles=tuple(sorted({role.name for role in roles})),
        name=user.full_name,
        email=user.email,
        app_id=session.app_id or UNSET,
        # Security: a Global Token gives no rights, even to a super-admin. It only chooses a tenant.
        super_admin=membership is not None and state.is_super_admin,
        rev=state.token_versions.get(user_subject(user.id), 0),
        ver=at_issue(_stale_subjects(user, membership, roles), state.token_versions),
        amr=session.methods,
        auth_time=int(session.authenticated_at.timestamp()) if session.authenticated_at else 0,
    )


def proved_by(session: Session, methods: Iterable[str], now: datetime) -> Session:
    """Return the session after a further proof. It has the earlier ``methods`` and the new ones, each once."""
    return replace(session, methods=tuple(dict.fromkeys((*session.methods, *methods))), authenticated_at=now)


def grants_bytes(permissions: Sequence[str], roles: Sequence[Role]) -> int:
    """Return the size in bytes of these permissions and roles in a token; GRANTS_BYTES is the maximum."""
    names = sorted({role.name for role in roles})
    # The largest likely version: later role changes must not exceed the size limit.
    subjects = {role_subject(role.id): 2**31 for role in roles}
    return sum(len(msgspec.json.encode(part)) for part in (permissions, names, subjects))


def ensure_fits_token(roles: Sequence[Role], field: str) -> None:
    """Raise ValidationError on ``field`` if a holder of all these roles would get a too large token."""
    size = grants_bytes(smallest(name for role in roles for name in role.permissions), roles)
    if size > GRANTS_BYTES:
        message = f"together hold more than a token can carry ({size} bytes, at most {GRANTS_BYTES}): use wildcards"
        raise ValidationError.on(field, message)


class Issue(Struct, frozen=True, kw_only=True):
    """Values for a token: the service's issuer, audience and lifetimes, and the new id."""

    issuer: str
    audience: str
    jti: UUID
    lifetimes: Lifetimes


def _stale_subjects(user: User, membership: Membership | None, roles: Sequence[Role]) -> tuple[str, ...]:
    # A Global Token does not depend on a tenant or role, so only changes of the user's rights make it stale.
    if membership is None:
        return (grants_subject(user.id),)
    tenant = tenant_subject(membership.tenant_id)
    return (grants_subject(user.id), tenant, *(role_subject(role.id) for role in roles))
