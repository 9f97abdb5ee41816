"""Revocation of tokens: token versions in the database and their copy in the shared memory."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol


class Revocations(Protocol):
    """The shared copy of the token versions, for use cases that change them."""

    def publishing(self, subjects: Sequence[str]) -> AbstractAsyncContextManager[dict[str, int]]:
        """Marks the subjects as pending around the transaction that bumps them.

        The caller puts the new versions into the yielded dictionary after the commit; leaving without them means that
        nothing changed. While subjects are pending, also after a crash, every process asks the database.
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
