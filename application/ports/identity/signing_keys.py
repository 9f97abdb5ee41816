"""The service's keys, in the database and in a process."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from domain.identity.signing_keys import Purpose, SigningKey


class SigningKeys(Protocol):
    """Stored keys: those that sign tokens and those that passwords are encrypted to."""

    async def all(self) -> list[SigningKey]:
        """Every key, the oldest first."""
        ...

    async def add_first(self, key: SigningKey) -> bool:
        """Stores the key unless its purpose has one; False then. Processes that start together agree on one."""
        ...

    async def add(self, key: SigningKey) -> None: ...

    async def reseal(self, key: SigningKey) -> None:
        """Replaces the sealed half of the stored key with that of ``key``, and nothing else of it."""
        ...


class StoredSecret(Struct, frozen=True):
    """Sealed secret of a user's authenticator app, by the id of the factor."""

    id: UUID
    user_id: UUID
    sealed: str


class StoredSecrets(Protocol):
    """Secrets of authenticator apps as they are stored, for a change of the key that seals them."""

    async def after(self, last: UUID | None, most: int) -> list[StoredSecret]:
        """The next secrets in the order of their ids, behind ``last``, or the first ones."""
        ...

    async def reseal(self, secret: StoredSecret, sealed: str) -> bool:
        """Stores the secret as it is sealed now; False when it was sealed anew since it was read, or is gone."""
        ...


class KeyTransaction(Protocol):
    """Parts of the database that hold keys, and what the service's secret seals."""

    @property
    def keys(self) -> SigningKeys: ...
    @property
    def stored_secrets(self) -> StoredSecrets: ...


class Keyring(Protocol):
    """Keys that this process works with."""

    def use(self, keys: Sequence[SigningKey]) -> None:
        """Takes over all stored keys; time decides which of them sign and which only verify."""
        ...

    def make_key(self, purpose: Purpose, active_from: datetime) -> SigningKey:
        """A new key with its private half sealed; it is not used before it is stored and given to ``use``."""
        ...

    def resealed(self, key: SigningKey) -> SigningKey:
        """The stored key with its private half sealed with the current secret. Raises an error for a wrong secret."""
        ...

    def published(self, now: datetime) -> bytes:
        """The JWK Set with the public halves.

        Signing keys as long as their tokens can be alive and the announced one; for passwords, the current key of each
        algorithm.
        """
        ...
