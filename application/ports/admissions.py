"""The one round trip of every request: limits counted and revocation asked, in memory shared by all processes."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from domain.limits import Hit, Verdict


class ShownToken(Struct, frozen=True):
    """The token of a request: the counts it was issued under, by subject, and what is counted if it is dead."""

    issued: Mapping[str, int]
    instead: Sequence[Hit]


class Admission(Struct, frozen=True):
    """``counts`` is None when the shared memory does not know them all for certain: ask the database.

    ``counted_instead``: a count has risen for certain, and the verdicts are of what counts then. ``ticket`` is what
    ``remember`` wants back, so that an answer from before a forgotten memory is not kept.
    """

    verdicts: tuple[Verdict, ...]
    token_versions: dict[str, int] | None
    ticket: str | None = None
    counted_instead: bool = False


class Admissions(Protocol):
    """Limits slide over their window, and are exact: a refused request does not count, against none of its limits.

    With the shared memory away every process counts for itself and knows no counts (None), never an error.
    """

    async def admit(self, hits: Sequence[Hit], shown: ShownToken | None) -> Admission:
        """Verdicts in the order of ``hits``, or of what is counted instead; when one refuses, none is counted."""
        ...

    async def recount(self, counted: Sequence[Hit], instead: Sequence[Hit]) -> tuple[Verdict, ...]:
        """Takes back what ``admit`` counted just now, and counts ``instead``: the database knew that it is dead."""
        ...

    async def remember(self, counts: Mapping[str, int], ticket: str) -> None:
        """Keeps what the database said, unless a change has begun or the memory was lost since ``admit``."""
        ...

    async def is_shared(self) -> bool:
        """Whether the shared memory answers now; readiness tells."""
        ...
