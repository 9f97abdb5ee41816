"""Admission of a request: rate limits and token versions in one round trip to the shared memory."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from domain.limits import Hit, Verdict


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
    token_versions: dict[str, int] | None
    ticket: str | None = None
    counted_instead: bool = False


class Admissions(Protocol):
    """Rate limits with a sliding window, exact to the request; a refused request counts against none of its limits.

    While the shared memory is away each process counts for itself and knows no versions (None); no error is raised.
    """

    async def admit(self, hits: Sequence[Hit], shown: PresentedToken | None) -> Admission:
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
