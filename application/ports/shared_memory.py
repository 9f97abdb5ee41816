"""The memory that all processes share: limits, cached values, and the copy of the token versions."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from domain.limits import Hit, Verdict

# Longer than a reader takes between reading the database and storing the value, so no old value comes back.
TOMBSTONE = timedelta(seconds=10)
"""Time after a ``drop`` in which nothing is stored under the key."""


def profile_key(user_id: UUID) -> str:
    """Cache key of the user's profile; dropped by every change of the user or of the user's roles and memberships."""
    return f"profile:{user_id}"


PROFILES_KEPT = timedelta(minutes=30)

# A tenant's name stands in the profiles of all its members: replacing this value makes them stale at once.
TENANTS_KEY = "profiles:tenants"
"""Cache key of a random value that every cached profile refers to."""


class Cache(Protocol):
    """Values shared by all processes; no method raises.

    While its memory is away, ``get`` finds nothing and ``put`` stores nothing. A ``drop`` may fail unnoticed, so a
    value should contain the versions that it was built from.
    """

    async def get(self, key: str) -> bytes | None: ...

    async def put(self, key: str, value: bytes, lifetime: timedelta) -> None:
        """Stores the value; does nothing within TOMBSTONE of a ``drop`` of the key."""
        ...

    async def drop(self, keys: Sequence[str]) -> None:
        """Removes the values, and keeps readers from storing an older value again."""
        ...


class Revocations(Protocol):
    """The shared copy of the token versions, for use cases that change them."""

    def publishing(self, subjects: Sequence[str]) -> AbstractAsyncContextManager[dict[str, int]]:
        """Marks the subjects as pending around the transaction that bumps them.

        The caller puts the new versions into the yielded dictionary where it bumps them. They are published once the
        block is left without an error; left with an error of the domain, or without versions, nothing has changed.
        While subjects are pending, also after a crash, every process asks the database.
        """
        ...


class TokenVersions(Protocol):
    """Versions in the database, which only rise."""

    async def of(self, subjects: Sequence[str]) -> dict[str, int]:
        """The version of each subject, 0 for one never bumped."""
        ...

    async def bump(self, subjects: Sequence[str]) -> Mapping[str, int]:
        """Raises each version by one and returns the new ones; subjects are locked in one order."""
        ...

    async def end(self, subjects: Sequence[str], at: datetime) -> None:
        """Records that no further token is issued under the subjects: their versions may be removed later."""
        ...


class PendingVersions(Protocol):
    """Bumped versions that the copy may not know yet, kept in the transactions that bump them."""

    async def due(self, age: float, most: int) -> dict[str, int]:
        """The ``most`` that have waited longest, of those bumped more than ``age`` seconds ago.

        Raises ServiceUnavailable.
        """
        ...

    async def published(self, versions: Mapping[str, int]) -> None:
        """The copy knows these; one that has been bumped again stays. Raises ServiceUnavailable."""
        ...


class PresentedToken(Struct, frozen=True):
    """Token of a request: the versions it was issued under, and the hits to count if it is dead."""

    issued: Mapping[str, int]
    instead: Sequence[Hit]


class Admission(Struct, frozen=True):
    """Answer of the shared memory.

    ``token_versions`` is None when it does not know all of them for certain: the database has to be asked.
    ``counted_instead``: a version is certainly higher, and the verdicts are of ``PresentedToken.instead``. ``ticket``
    is handed to ``remember``: versions read before the memory was lost are not stored.
    """

    verdicts: tuple[Verdict, ...]
    token_versions: Mapping[str, int] | None
    ticket: str | None = None
    counted_instead: bool = False


class Admissions(Protocol):
    """Rate limits with a sliding window, exact to the request; a refused request counts against none of its limits.

    While the shared memory is away each process counts for itself and knows no versions (None); no error is raised.
    """

    async def admit(self, hits: Sequence[Hit], presented: PresentedToken | None) -> Admission:
        """Counts ``hits``, or ``instead`` for a dead token, unless one is refused; verdicts keep their order."""
        ...

    async def recount(self, counted: Sequence[Hit], instead: Sequence[Hit]) -> tuple[Verdict, ...]:
        """Takes back what ``admit`` just counted, and counts ``instead``: the database knew that the token is dead."""
        ...

    async def remember(self, versions: Mapping[str, int], ticket: str) -> None:
        """Stores versions read from the database, unless a change began or the memory was lost since ``admit``."""
        ...

    async def is_shared(self) -> bool:
        """Whether the shared memory answers now, for readiness."""
        ...
