"""Passwords that arrive encrypted, and password hashes that were imported."""

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
    """Encrypted passwords in the compact form of a JWE (RFC 7516)."""

    def is_encrypted(self, text: str) -> bool:
        """Whether the text has the form of a JWE, of any algorithm and to any key."""
        ...

    # Security: a decryption oracle must not tell faults apart.
    def open(self, text: str, now: datetime) -> OpenedPassword | None:
        """The decrypted password; None for every fault: wrong algorithm, unknown or retired key, broken content."""
        ...


class UsedNonces(Protocol):
    """Nonces that were used, kept until the message that carried them has expired."""

    async def consume(self, nonce: str, until: datetime, now: datetime) -> bool:
        """Records the nonce in one atomic statement; False when it was used before and its ``until`` is not past."""
        ...


class NonceTransaction(Protocol):
    """Parts of the database that hold used nonces."""

    @property
    def used_nonces(self) -> UsedNonces: ...


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
