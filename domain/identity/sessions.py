"""Sessions and their refresh tokens: a refresh token names the session and a counter and can be used once."""

from datetime import UTC, datetime, timedelta
from enum import Enum
from uuid import UUID

from msgspec import Struct

from domain.errors import TokenExpired, TokenInvalid


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

    ``counter`` is the one in its current refresh token; ``tenant_id`` is None before a tenant is chosen.
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
