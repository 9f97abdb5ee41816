"""The service's keys, as the database keeps them and as a process holds them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from domain.identity.signing_keys import Purpose, SigningKey


class SigningKeys(Protocol):
    """Those that sign tokens, and those that passwords are encrypted to."""

    async def all(self) -> list[SigningKey]:
        """The oldest first."""
        ...

    async def add_first(self, key: SigningKey) -> bool:
        """Stores the key unless there is one of its purpose; processes that start together agree on one."""
        ...

    async def add(self, key: SigningKey) -> None: ...


class KeyTransaction(Protocol):
    """The room of the database in which keys are kept."""

    @property
    def keys(self) -> SigningKeys: ...


class Keyring(Protocol):
    """The keys that this process works with: those it was last given."""

    def use(self, keys: Sequence[SigningKey]) -> None:
        """All stored keys, whatever their age; which of them is used and which still read with is decided by time."""
        ...

    def make_key(self, purpose: Purpose, active_from: datetime) -> SigningKey:
        """A new key, its secret half sealed; it is not in use before it is stored and given to ``use``."""
        ...

    def published(self, now: datetime) -> bytes:
        """The JWK Set, public halves only: of keys that sign, those whose tokens can be alive and the one that
        comes next; of keys that passwords are encrypted to, the current one for each algorithm."""
        ...
