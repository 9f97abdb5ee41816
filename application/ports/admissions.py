"""The one round trip of every request: limits counted and revocation asked, in memory shared by all processes."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from domain.limits import Hit, Verdict


class Admission(Struct, frozen=True):
    """``counts`` is None when the shared memory does not know them all for certain: ask the database.

    ``ticket`` is what ``remember`` wants back, so that an answer from before a forgotten memory is not kept.
    """

    verdicts: tuple[Verdict, ...]
    counts: dict[str, int] | None
    ticket: str | None = None


class Admissions(Protocol):
    """Limits slide over their window, and are exact: a refused request does not count, against none of its limits.

    With the shared memory away every process counts for itself and knows no counts (None), never an error.
    """

    async def admit(self, hits: Sequence[Hit], subjects: Sequence[str]) -> Admission:
        """Verdicts in the order of ``hits``; when one refuses, none is counted."""
        ...

    async def remember(self, counts: Mapping[str, int], ticket: str) -> None:
        """Keeps what the database said, unless a change has begun or the memory was lost since ``admit``."""
        ...

    async def is_shared(self) -> bool:
        """Whether the shared memory answers now; readiness tells."""
        ...
