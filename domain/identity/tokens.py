"""Tokens: their claims, the versions they were issued under, and the sessions that renew them."""

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
"""Tolerated difference between clocks when the times of a token, or of an encrypted password, are checked."""


class Lifetimes(Struct, frozen=True, kw_only=True):
    """Lifetimes of tokens and sessions.

    ``access`` and ``global_access`` are the lifetimes of the two kinds of access token. A session ends after
    ``session``, when it is ``unused`` for that long, and after ``selection`` when no tenant was chosen. Within
    ``grace`` after a refresh the same refresh token may be sent again, for clients whose response was lost.
    """

    access: timedelta
    global_access: timedelta
    unused: timedelta
    session: timedelta
    selection: timedelta
    grace: timedelta


class Session(Struct, frozen=True, kw_only=True):
    """A login, one row for its whole life.

    ``counter`` is the one in its current refresh token; ``tenant_id`` is None before a tenant is chosen. ``methods``
    are how it was proved, ``authenticated_at`` when last; sessions of before these were kept have neither.
    ``is_first_login`` says that no login of the user succeeded before this one.
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
"""Sessions of a user: one more ends the one that was unused for longest."""


class RefreshToken(Struct, frozen=True):
    """The content of a refresh token; holding the sealed form is enough to refresh."""

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
    """Judges a refresh token with this counter (RFC 9700, section 4.14.2: rotation with detection of reuse).

    Example: with ``session.counter == 3``, counter 3 is FRESH, 2 is REPLAYED within the grace and STOLEN after it.
    """
    # A higher counter was sealed by us but is not in the database, as after the restoration of a backup.
    if session.ended_at is not None or counter > session.counter:
        return RefreshOutcome.DEAD
    if is_expired(session, now, lifetimes):
        return RefreshOutcome.EXPIRED
    if counter == session.counter:
        return RefreshOutcome.FRESH
    # A client whose response was lost sends its last token again; anybody else who holds an old token has stolen it.
    if counter == session.counter - 1 and now < session.rotated_at + lifetimes.grace:
        return RefreshOutcome.REPLAYED
    return RefreshOutcome.STOLEN


def is_expired(session: Session, now: datetime, lifetimes: Lifetimes) -> bool:
    return now >= expires_at(session, lifetimes)


def is_kept_out(session: Session, membership: Membership) -> bool:
    """Whether the session was proved before an administrator ended all sessions of its user in the tenant."""
    ended_at = membership.sessions_ended_at
    return ended_at is not None and (session.authenticated_at or session.created_at) < ended_at


def expires_at(session: Session, lifetimes: Lifetimes) -> datetime:
    """The earliest end: unused too long, greatest age reached, or no tenant chosen in time."""
    ends = [session.rotated_at + lifetimes.unused, session.created_at + lifetimes.session]
    if session.tenant_id is None:
        ends.append(session.created_at + lifetimes.selection)
    return min(ends)


def unknown_session(session_id: UUID, now: datetime, lifetimes: Lifetimes) -> TokenExpired | TokenInvalid:
    """The error for a session whose row is gone: expired if it is older than any session can be, else ended."""
    # The first 48 bits of a UUIDv7 are the millisecond in which it was made.
    started_at = datetime.fromtimestamp((session_id.int >> 80) / 1000, UTC)
    if now >= started_at + lifetimes.session:
        return TokenExpired("The session has expired: log in again.")
    return TokenInvalid("The session has ended.")


def refreshed_once_more() -> TokenInvalid:
    """Refusal of a refresh token whose successor was used too; the session lives on."""
    return TokenInvalid("The session was refreshed once more meanwhile: use its newest refresh token.")


SELECTOR_SCOPE = "tenant-selector-only"


class Claims(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Payload of an access token, by wire names; ``rev`` and ``ver`` are the token versions at its issue."""

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
    """The caller that verified claims stand for."""
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
        # A session's version rises once, at its end, so the token need not carry it.
        issued={user_subject(claims.sub): claims.rev, session_subject(claims.sid): 0, **claims.ver},
        expires_at=claims.exp,
        kind=claims.kind,
        methods=claims.amr,
        authenticated_at=claims.auth_time,
    )


def membership_in(memberships: Sequence[Membership], tenant_id: UUID) -> Membership:
    """The active membership in the tenant. Raises Forbidden, with the same message whether or not the tenant exists."""
    for membership in memberships:
        if membership.tenant_id == tenant_id and membership.tenant_is_active:
            return membership
    raise Forbidden("You are not a member of this tenant.")


def claims_for(
    state: AccountState, membership: Membership | None, session: Session, now: datetime, issue: "Issue"
) -> Claims:
    """Claims of a session's token: for the tenant of ``membership``, or, without one, for choosing a tenant only."""
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
        # A Global Token gives no rights, not even to a super-admin: it only chooses a tenant.
        super_admin=membership is not None and state.is_super_admin,
        rev=state.token_versions.get(user_subject(user.id), 0),
        ver=at_issue(_stale_subjects(user, membership, roles), state.token_versions),
        amr=session.methods,
        auth_time=int(session.authenticated_at.timestamp()) if session.authenticated_at else 0,
    )


def proved_by(session: Session, methods: Iterable[str], now: datetime) -> Session:
    """The session after its user showed further proof: ``methods`` are added to those before, each once."""
    return replace(session, methods=tuple(dict.fromkeys((*session.methods, *methods))), authenticated_at=now)


def grants_bytes(permissions: Sequence[str], roles: Sequence[Role]) -> int:
    """Bytes of what a token carries for these permissions and roles: at most GRANTS_BYTES."""
    names = sorted({role.name for role in roles})
    # The largest version that is likely: the size must not grow past the limit when roles are changed later.
    subjects = {role_subject(role.id): 2**31 for role in roles}
    return sum(len(msgspec.json.encode(part)) for part in (permissions, names, subjects))


def ensure_fits_token(roles: Sequence[Role], field: str) -> None:
    """Raises ValidationError on ``field`` when a holder of all these roles would get a token that is too large."""
    size = grants_bytes(smallest(name for role in roles for name in role.permissions), roles)
    if size > GRANTS_BYTES:
        message = f"together hold more than a token can carry ({size} bytes, at most {GRANTS_BYTES}): use wildcards"
        raise ValidationError.on(field, message)


class Issue(Struct, frozen=True, kw_only=True):
    """Values of an issue: issuer, audience and lifetimes of the service, and the new token's id."""

    issuer: str
    audience: str
    jti: UUID
    lifetimes: Lifetimes


def _stale_subjects(user: User, membership: Membership | None, roles: Sequence[Role]) -> tuple[str, ...]:
    # A Global Token depends on no tenant and no role.
    if membership is None:
        return (grants_subject(user.id),)
    tenant = tenant_subject(membership.tenant_id)
    return (grants_subject(user.id), tenant, *(role_subject(role.id) for role in roles))
