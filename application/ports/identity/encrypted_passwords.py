"""Passwords that come encrypted: what opens them, and where it is kept that one was used."""

from datetime import datetime
from typing import Protocol

from msgspec import Struct


class OpenedPassword(Struct, frozen=True):
    """``sealed_at`` is in seconds since 1970, by the sender's clock; ``jti`` is the sender's own id of this sending."""

    password: str
    sealed_at: float
    jti: str


class EncryptedPasswords(Protocol):
    """Encrypted passwords in the compact form of RFC 7516."""

    def is_encrypted(self, text: str) -> bool:
        """Whether it has the form of a JWE, of whatever kind and to whichever key."""
        ...

    def open(self, text: str, now: datetime) -> OpenedPassword | None:
        """None for whatever was not encrypted as asked for, to a key that lives: nobody is told what was wrong."""
        ...


class UsedNonces(Protocol):
    """Ids that may be used once, kept until what carries them has ended by itself."""

    async def consume(self, nonce: str, until: datetime, now: datetime) -> bool:
        """One atomic statement: False when it was spent before, and is not past its ``until``."""
        ...


class NonceTransaction(Protocol):
    """The room of the database in which spent ids are kept."""

    @property
    def used_nonces(self) -> UsedNonces: ...
