"""A session is one row whatever its age; its refresh token names the session and a counter, and is used once."""

from datetime import UTC, datetime, timedelta
from enum import Enum
from uuid import UUID

from msgspec import Struct

from domain.errors import TokenExpired, TokenInvalid


class Lifetimes(Struct, frozen=True, kw_only=True):
    """``selection`` is how long a session without a tenant can be refreshed; ``grace`` how long a lost answer."""

    access: timedelta
    global_access: timedelta
    unused: timedelta
    session: timedelta
    selection: timedelta
    grace: timedelta


class Session(Struct, frozen=True, kw_only=True):
    """``counter`` is the one its living refresh token carries; ``tenant_id`` is None before a tenant is chosen."""

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
    """What an opened refresh token says; who holds the sealed form may refresh."""

    session_id: UUID
    counter: int


class Showing(Enum):
    """What showing a refresh token comes to."""

    FRESH = "rotates to its successor"
    REPLAYED = "the last spent one, within the grace: the same successor again"
    STOLEN = "spent too long ago, or older: the session ends"
    EXPIRED = "the session has reached its age"
    DEAD = "the session was ended, or never got this far"


def shown(session: Session, counter: int, now: datetime, lifetimes: Lifetimes) -> Showing:
    if session.ended_at is not None or counter > session.counter:
        return Showing.DEAD
    if is_expired(session, now, lifetimes):
        return Showing.EXPIRED
    if counter == session.counter:
        return Showing.FRESH
    if counter == session.counter - 1 and now < session.rotated_at + lifetimes.grace:
        return Showing.REPLAYED
    return Showing.STOLEN


def is_expired(session: Session, now: datetime, lifetimes: Lifetimes) -> bool:
    return now >= expires_at(session, lifetimes)


def expires_at(session: Session, lifetimes: Lifetimes) -> datetime:
    """The earliest of: unused for too long, too old whatever its use, no tenant chosen in time."""
    ends = [session.rotated_at + lifetimes.unused, session.created_at + lifetimes.session]
    if session.tenant_id is None:
        ends.append(session.created_at + lifetimes.selection)
    return min(ends)


def unknown_session(session_id: UUID, now: datetime, lifetimes: Lifetimes) -> TokenExpired | TokenInvalid:
    """Why a session of which only the id is left cannot go on: a UUIDv7 begins with the millisecond it was made in."""
    begun_at = datetime.fromtimestamp((session_id.int >> 80) / 1000, UTC)
    if now >= begun_at + lifetimes.session:
        return TokenExpired("The session has expired: log in again.")
    return TokenInvalid("The session has ended.")
