"""The service's keys, in the database and in a process."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from domain.identity.signing_keys import Purpose, SigningKey


class SigningKeys(Protocol):
    """Stored signing keys, and stored encryption keys for passwords."""

    async def all(self) -> list[SigningKey]:
        """Return every key, oldest first."""
        ...

    async def add_first(self, key: SigningKey) -> bool:
        """Store the key, or return False if its purpose has one. Concurrently starting processes agree on one."""
        ...

    async def add(self, key: SigningKey) -> None: ...

    async def reseal(self, key: SigningKey) -> None:
        """Replace only the sealed half of the stored key with that of ``key``."""
        ...


class StoredSecret(Struct, frozen=True):
    """Sealed secret of a user's authenticator app, by factor id."""

    id: UUID
    user_id: UUID
    sealed: str


class StoredSecrets(Protocol):
    """Stored secrets of authenticator apps, to reseal them with another key."""

    async def after(self, last: UUID | None, most: int) -> list[StoredSecret]:
        """Return the next secrets after ``last`` in the order of ids, or the first ones."""
        ...

    async def reseal(self, secret: StoredSecret, sealed: str) -> bool:
        """Store the resealed secret; return False if it no longer exists or was resealed since the read."""
        ...


class KeyTransaction(Protocol):
    """Transaction with access to keys, and to data sealed by the service's secret."""

    @property
    def keys(self) -> SigningKeys: ...
    @property
    def stored_secrets(self) -> StoredSecrets: ...


class Keyring(Protocol):
    """Keys of this process."""

    def use(self, keys: Sequence[SigningKey]) -> None:
        """Use all stored keys; time decides whether a key signs or only verifies."""
        ...

    def make_key(self, purpose: Purpose, active_from: datetime) -> SigningKey:
        """Return a new key with a sealed private half. The caller MUST store it, then pass it to ``use``."""
        ...

    def resealed(self, key: SigningKey) -> SigningKey:
        """Return the stored key, its private half sealed with the current secret. Raises WrongSecretKey."""
        ...

    def published(self, now: datetime) -> bytes:
        """Return the JWK Set with the public halves.

        It has the announced signing key and those with possibly live tokens; for passwords, the current key of each
        algorithm.
        """
        ...
