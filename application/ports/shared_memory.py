"""Memory shared by all processes: limits, cached values, the copy of the token versions, and signals."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from domain.limits import Hit, Verdict

# Longer than a reader needs from database to cache, so that no old value returns.
TOMBSTONE = timedelta(seconds=10)
"""Time after a ``drop`` during which the key accepts no value."""


def profile_key(user_id: UUID) -> str:
    """Return the cache key of the user's profile; changes of the user, roles or memberships drop it."""
    return f"profile:{user_id}"


PROFILES_KEPT = timedelta(minutes=30)

# All members' profiles contain the tenant's name: a new random value under this key makes them all stale at once.
TENANTS_KEY = "profiles:tenants"
"""Cache key of a random value that every cached profile refers to."""


class Cache(Protocol):
    """Values that all processes share; no method raises.

    During an outage of the memory, ``get`` finds nothing and ``put`` stores nothing. A ``drop`` may fail without an
    error, so a value should contain the versions from which it was built.
    """

    async def get(self, key: str) -> bytes | None: ...

    async def put(self, key: str, value: bytes, lifetime: timedelta) -> None:
        """Store the value, unless the key was dropped less than TOMBSTONE ago."""
        ...

    async def drop(self, keys: Sequence[str]) -> None:
        """Remove the values, and prevent readers from storing an older value again."""
        ...


class Revocations(Protocol):
    """Shared copy of the token versions, updated by use cases that change the versions."""

    def publishing(self, subjects: Sequence[str]) -> AbstractAsyncContextManager[dict[str, int]]:
        """Mark the subjects as pending around the transaction that raises their versions.

        The caller puts the new versions into the yielded dictionary, and the end of the block publishes them. After a
        domain error, or without new versions, the published versions remain. While subjects are pending, also after a
        crash, every process reads their versions from the database.
        """
        ...


class TokenVersions(Protocol):
    """Monotonic versions in the database."""

    async def of(self, subjects: Sequence[str]) -> dict[str, int]:
        """Return the version of each subject, 0 for a subject that was never raised."""
        ...

    async def bump(self, subjects: Sequence[str], ended_at: datetime | None = None) -> Mapping[str, int]:
        """Raise the version of each subject by one and return the new versions; lock the subjects in one order.

        With ``ended_at``, do what ``end`` does as well.
        """
        ...

    async def end(self, subjects: Sequence[str], at: datetime) -> None:
        """Record that the service issues no more tokens for the subjects, so that their versions can be removed."""
        ...


class PendingVersions(Protocol):
    """New versions possibly missing in the copy, stored in the transactions that create them."""

    async def due(self, age: float, most: int) -> dict[str, int]:
        """Return subjects with versions raised more than ``age`` seconds ago: at most ``most``, the longest waiting
        first.

        Raises ServiceUnavailable.
        """
        ...

    async def published(self, versions: Mapping[str, int]) -> None:
        """Mark these versions as published, except those of subjects raised again. Raises ServiceUnavailable."""
        ...


class PresentedToken(Struct, frozen=True):
    """Token of a request: its versions at issue, and the hits to count instead if the token is invalid."""

    issued: Mapping[str, int]
    instead: Sequence[Hit]


class Admission(Struct, frozen=True):
    """Result of ``admit``.

    ``token_versions`` is None if any version is uncertain: then the caller must read the database. ``counted_instead``:
    a version is certainly higher than the token's, and the verdicts are those of ``PresentedToken.instead``. ``ticket``
    is for ``remember``, which does not store versions read before a loss of the memory.
    """

    verdicts: tuple[Verdict, ...]
    token_versions: Mapping[str, int] | None
    ticket: str | None = None
    counted_instead: bool = False


class KnownVersions(Struct, frozen=True):
    """Versions that are certain, by subject; ``ticket`` is for ``remember``, None while a change is pending."""

    versions: Mapping[str, int]
    ticket: str | None = None


class Admissions(Protocol):
    """Rate limits with a sliding window, exact to the request; a refused request counts against none of its limits.

    During an outage of the shared memory each process counts its own requests and knows no versions (None); no method
    raises an error.
    """

    async def admit(self, hits: Sequence[Hit], presented: PresentedToken | None) -> Admission:
        """Count ``hits``, or ``instead`` for a dead token, unless one is refused; verdicts retain their order."""
        ...

    async def alive(self, issued: Sequence[Mapping[str, int]]) -> KnownVersions:
        """Return the certain versions of the subjects of many tokens, given as their versions at issue; count nothing.

        The caller MUST read a missing subject from the database. A version may be reported as the lowest at issue if no
        token is behind it.
        """
        ...

    async def recount(self, counted: Sequence[Hit], instead: Sequence[Hit]) -> tuple[Verdict, ...]:
        """Refund the hits that ``admit`` counted, and count ``instead``: the database reports the token as dead."""
        ...

    async def remember(self, versions: Mapping[str, int], ticket: str) -> None:
        """Store versions read from the database, unless a change began or the memory was lost since ``admit``."""
        ...

    async def is_shared(self) -> bool:
        """Return whether the shared memory answers now, for readiness."""
        ...


class Wakes(Protocol):
    """Signals to all processes that the log of changes has new entries. A signal may be lost; no method raises."""

    async def publish(self, tenants: Collection[UUID | None]) -> None:
        """Signal new entries of these tenants; None is for the rows that all tenants share."""
        ...

    async def next(self) -> Collection[UUID | None] | None:
        """Wait for the next signal and return its tenants. The process MUST have one caller at a time.

        Returns None after a time, or without the shared memory: then any tenant may have new entries.
        """
        ...

    async def close(self) -> None:
        """Stop receiving signals; a later ``next`` receives again."""
        ...
