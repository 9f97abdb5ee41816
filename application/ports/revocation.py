"""Revocation of tokens: the counts in the database and the shared copy of them."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol


class Revocations(Protocol):
    """The shared copy of the revocation counts, as seen by who raises them."""

    def publishing(self, subjects: Sequence[str]) -> AbstractAsyncContextManager[dict[str, int]]:
        """Around the transaction that raises revocation counts: the subjects are pending from before it begins.

        The caller puts the new counts into the yielded dictionary once they are committed; leaving without them
        means that nothing was changed. A process that dies inside leaves the subjects pending, which means that
        everyone asks the database.
        """
        ...


class TokenVersions(Protocol):
    async def of(self, subjects: Sequence[str]) -> dict[str, int]:
        """All of ``subjects``, 0 for those never raised."""
        ...

    async def bump(self, subjects: Sequence[str]) -> Mapping[str, int]:
        """Adds one to each and answers the new counts; subjects are locked in one order."""
        ...

    async def end(self, subjects: Sequence[str], at: datetime) -> None:
        """No token is issued under them any more: their counts may go once the last one must have ended."""
        ...
