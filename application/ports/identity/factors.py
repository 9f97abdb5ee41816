"""Second factors of accounts: authenticator apps, passkeys, and recovery codes."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.identity.passwords import NonceTransaction
from application.ports.identity.sessions import SessionTransaction
from domain.identity.users import FactorKind


class Credential(Struct, frozen=True, kw_only=True):
    """Public half of a passkey (WebAuthn, section 4).

    ``uv_initialized``: its user was verified when it was registered. ``backup_eligible`` never changes, ``backed_up``
    says whether it is synchronised now.
    """

    id: bytes
    public_key: bytes
    counter: int
    transports: tuple[str, ...]
    aaguid: UUID
    backup_eligible: bool
    backed_up: bool
    uv_initialized: bool


class Factor(Struct, frozen=True, kw_only=True):
    """A factor: ``sealed`` and ``last_step`` belong to an app (``totp``), ``credential`` to a passkey.

    ``sealed`` is the secret, encrypted with a key that is not in the database; ``last_step`` the last time step used.
    """

    id: UUID
    user_id: UUID
    kind: FactorKind
    name: str
    created_at: datetime
    last_used_at: datetime | None = None
    sealed: str | None = None
    last_step: int = 0
    credential: Credential | None = None


class Factors(Protocol):
    async def of(self, user_id: UUID) -> list[Factor]:
        """The user's factors, the oldest first."""
        ...

    async def by_credential(self, credential_id: bytes) -> Factor | None:
        """The passkey with this id, whose ever it is."""
        ...

    async def add(self, factor: Factor) -> None:
        """Stores a new factor. Raises Conflict on ``response`` when the credential's id is taken, whose ever it is."""
        ...

    async def rename(self, user_id: UUID, factor_id: UUID, name: str) -> bool:
        """Renames a factor of the user; False when they have none with this id."""
        ...

    async def remove(self, user_id: UUID, factor_id: UUID | None) -> int:
        """Removes and counts a factor of the user, or, for None, all of them."""
        ...

    async def use_step(self, factor_id: UUID, step: int, sealed: str, at: datetime) -> bool:
        """Marks a time step used and stores the secret as it is sealed now.

        Of parallel calls one gets True, and none for a step that is not later than the last one.
        """
        ...

    async def use_credential(self, factor_id: UUID, seen: int, credential: Credential, at: datetime) -> bool:
        """Stores counter and backup state of a passkey that was used; False when its counter is not ``seen`` now."""
        ...


class RecoveryCodes(Protocol):
    """Recovery codes by their digests."""

    async def replace(self, user_id: UUID, digests: Sequence[bytes]) -> None:
        """Removes the user's codes and stores these; with none, they have none."""
        ...

    async def use(self, user_id: UUID, digest: bytes, at: datetime) -> bool:
        """Marks a code used; of parallel calls one gets True."""
        ...

    async def left(self, user_id: UUID) -> int:
        """Number of the user's codes that were not used."""
        ...


class PasskeyHandles(Protocol):
    """Random names of users that passkeys keep in place of the user's id."""

    async def of(self, user_id: UUID, fresh: bytes) -> bytes:
        """The user's handle, which is ``fresh`` where they have none yet."""
        ...


class FactorTransaction(SessionTransaction, NonceTransaction, Protocol):
    """Parts of the database that second factors need."""

    @property
    def factors(self) -> Factors: ...
    @property
    def recovery_codes(self) -> RecoveryCodes: ...
    @property
    def passkey_handles(self) -> PasskeyHandles: ...


class FactorSecrets(Protocol):
    """Encrypts the secrets of authenticator apps with a key that is not in the database."""

    def seal(self, user_id: UUID, secret: bytes) -> str: ...

    def open(self, user_id: UUID, sealed: str) -> bytes | None:
        """The secret; None for a text that was not sealed here, or for another user."""
        ...
