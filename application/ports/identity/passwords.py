"""Encrypted passwords, and imported password hashes."""

from datetime import datetime
from typing import Protocol

from msgspec import Struct


class OpenedPassword(Struct, frozen=True):
    """A decrypted password.

    ``sealed_at`` is in seconds since 1970 by the sender's clock, ``jti`` is the sender's nonce.
    """

    password: str
    sealed_at: float
    jti: str


class EncryptedPasswords(Protocol):
    """Encrypted passwords in JWE compact serialization (RFC 7516)."""

    def is_encrypted(self, text: str) -> bool:
        """Return whether the text has the form of a JWE, with any algorithm and any key."""
        ...

    # Security: a decryption oracle must not distinguish errors.
    def open(self, text: str, now: datetime) -> OpenedPassword | None:
        """Return the decrypted password; None for every fault, such as an unknown key or broken content."""
        ...


class UsedNonces(Protocol):
    """Used nonces, stored until the message with the nonce expires."""

    async def consume(self, nonce: str, until: datetime, now: datetime) -> bool:
        """Record the nonce atomically; return False if it was used before and its ``until`` is not past."""
        ...


class NonceTransaction(Protocol):
    """Database part with used nonces."""

    @property
    def used_nonces(self) -> UsedNonces: ...


FOREIGN = "foreign:"
"""Prefix of an imported hash in the database. The user's next login replaces the hash."""


class ForeignHashes(Protocol):
    """Importable formats of hashes."""

    def accepted(self, text: str) -> str:
        """Return the hash in its stored form, with the prefix FOREIGN.

        Raises ValueError, with a sentence, for an unknown format or a hash too slow to verify.
        """
        ...


class ImportedHashes(Protocol):
    async def any_left(self) -> bool:
        """Return whether any account still has its imported hash."""
        ...


class ImportedHashTransaction(Protocol):
    """Database parts with imported hashes."""

    @property
    def imported(self) -> ImportedHashes: ...
