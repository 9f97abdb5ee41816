"""Hashes of other systems' making: which are taken over, and whether any is left."""

from typing import Protocol

FOREIGN = "foreign:"
"""What a stored hash begins with until it is renewed, when it was imported."""


class ForeignHashes(Protocol):
    def accepted(self, text: str) -> str:
        """The hash as it is stored and ``Passwords.verify`` takes it, marked as FOREIGN.

        Raises ValueError with a sentence, for a form that is not known, and for one that would cost more than
        LONGEST_VERIFY to verify.
        """
        ...


class ImportedHashes(Protocol):
    async def any_left(self) -> bool:
        """Whether any account still has the hash that it was imported with."""
        ...


class ImportedHashTransaction(Protocol):
    """The room of the database that knows of imported hashes."""

    @property
    def imported(self) -> ImportedHashes: ...
