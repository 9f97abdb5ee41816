"""Token versions, which revoke tokens.

A token carries the version of each subject it depends on (its user, session, tenant and roles) and is refused once
one of these versions is higher in the database.
"""

from collections.abc import Iterable, Mapping
from uuid import UUID

from domain.errors import TokenExpired, TokenInvalid

Versions = Mapping[str, int]
"""Subject → its version; a subject that was never bumped has version 0."""


def user_subject(user_id: UUID) -> str:
    """Bumped by logout, disabling, deletion and a changed password: the user's tokens are revoked."""
    return f"user:{user_id}"


def session_subject(session_id: UUID) -> str:
    """Bumped when the session is ended: its tokens are revoked."""
    return f"session:{session_id}"


def grants_subject(user_id: UUID) -> str:
    """Bumped when the user's roles or memberships change: the user's tokens are stale."""
    return f"grants:{user_id}"


def tenant_subject(tenant_id: UUID) -> str:
    """Bumped when the tenant is closed or deleted: its tokens are stale."""
    return f"tenant:{tenant_id}"


def role_subject(role_id: UUID) -> str:
    """Bumped when the role's permissions change: the tokens of its holders are stale."""
    return f"role:{role_id}"


def at_issue(subjects: Iterable[str], versions: Versions) -> dict[str, int]:
    """The versions that a new token carries for its subjects."""
    return {subject: versions.get(subject, 0) for subject in subjects}


def ensure_alive(issued: Versions, now: Versions) -> None:
    """Raises TokenInvalid for a revoked token (log in again), TokenExpired for a stale one (refresh is enough)."""
    outdated = [subject for subject, version in issued.items() if now.get(subject, 0) > version]
    # Revoked goes before stale: a client told to refresh would try in vain.
    if any(subject.startswith(("user:", "session:")) for subject in outdated):
        raise TokenInvalid("The token has been revoked.")
    if outdated:
        raise TokenExpired("Your permissions have changed since the token was issued: refresh it.")
