"""Versions that only rise: a token names those it was issued under, and is dead once one of them has risen since."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from domain.errors import TokenExpired, TokenInvalid

Versions = Mapping[str, int]
"""Subject → how often it has been raised; a subject never raised counts 0."""


def user_subject(user_id: UUID) -> str:
    """Raised by logout, disable, delete and a changed password: the user's tokens are revoked."""
    return f"user:{user_id}"


def session_subject(session_id: UUID) -> str:
    """Raised when one session is ended: its tokens are revoked."""
    return f"session:{session_id}"


def grants_subject(user_id: UUID) -> str:
    """Raised when a user's roles or memberships change: the user's tokens are stale."""
    return f"grants:{user_id}"


def tenant_subject(tenant_id: UUID) -> str:
    """Raised when a tenant is closed or deleted: its tokens are stale."""
    return f"tenant:{tenant_id}"


def role_subject(role_id: UUID) -> str:
    """Raised when a role's permissions change: its holders' tokens are stale."""
    return f"role:{role_id}"


def at_issue(subjects: Iterable[str], counts: Versions) -> dict[str, int]:
    """What a new token writes down about itself."""
    return {subject: counts.get(subject, 0) for subject in subjects}


def ensure_alive(issued: Versions, now: Versions) -> None:
    """Revoked beats stale: TOKEN_INVALID asks for a new login, TOKEN_EXPIRED only for a refresh."""
    risen = [subject for subject, count in issued.items() if now.get(subject, 0) > count]
    if any(subject.startswith(("user:", "session:")) for subject in risen):
        raise TokenInvalid("The token has been revoked.")
    if risen:
        raise TokenExpired("Your permissions have changed since the token was issued: refresh it.")
