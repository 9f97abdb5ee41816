"""Password hashes imported from other systems."""

from typing import Protocol

FOREIGN = "foreign:"
"""Prefix of a stored hash that was imported, until it is replaced at the next login."""


class ForeignHashes(Protocol):
    """Formats of hashes that an import accepts."""

    def accepted(self, text: str) -> str:
        """The hash as it is stored, with the prefix FOREIGN.

        Raises ValueError, with a sentence, for an unknown format and for a hash that takes too long to verify.
        """
        ...


class ImportedHashes(Protocol):
    async def any_left(self) -> bool:
        """Whether any account still has its imported hash."""
        ...


class ImportedHashTransaction(Protocol):
    """Parts of the database that know of imported hashes."""

    @property
    def imported(self) -> ImportedHashes: ...
