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

    ``uv_initialized``: the authenticator verified the user at registration. ``backup_eligible`` never changes,
    ``backed_up`` says whether the passkey is synchronised now.
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

    ``sealed`` is the secret, encrypted with a key outside the database; ``last_step`` the last used time step.
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
        """Return the user's factors, oldest first."""
        ...

    async def by_credential(self, credential_id: bytes) -> Factor | None:
        """Return the passkey with this id, of any user."""
        ...

    async def add(self, factor: Factor) -> None:
        """Store a new factor. Raises Conflict on ``response`` if any user has the credential's id."""
        ...

    async def rename(self, user_id: UUID, factor_id: UUID, name: str) -> bool:
        """Rename a factor of the user; return False if the factor does not exist."""
        ...

    async def remove(self, user_id: UUID, factor_id: UUID | None) -> int:
        """Remove a factor of the user, or all factors for None; return the number of removed factors."""
        ...

    async def use_step(self, factor_id: UUID, step: int, sealed: str, at: datetime) -> bool:
        """Mark a time step as used and store the sealed secret.

        Only one of several parallel calls returns True; a step not later than the last gives False.
        """
        ...

    async def use_credential(self, factor_id: UUID, seen: int, credential: Credential, at: datetime) -> bool:
        """Store a used passkey's counter and backup state; return False if its counter is not ``seen`` any more."""
        ...


class RecoveryCodes(Protocol):
    """Recovery codes by their digests."""

    async def replace(self, user_id: UUID, digests: Sequence[bytes]) -> None:
        """Replace all of the user's codes by the given ones."""
        ...

    async def use(self, user_id: UUID, digest: bytes, at: datetime) -> bool:
        """Mark a code as used; only one of several parallel calls returns True."""
        ...

    async def left(self, user_id: UUID) -> int:
        """Return the number of the user's unused codes."""
        ...


class PasskeyHandles(Protocol):
    """Random user handles that passkeys contain in place of the user's id."""

    async def of(self, user_id: UUID, fresh: bytes) -> bytes:
        """Return the user's handle; if the user has none, store and return ``fresh``."""
        ...


class FactorTransaction(SessionTransaction, NonceTransaction, Protocol):
    """Transaction for second factors."""

    @property
    def factors(self) -> Factors: ...
    @property
    def recovery_codes(self) -> RecoveryCodes: ...
    @property
    def passkey_handles(self) -> PasskeyHandles: ...


class FactorSecrets(Protocol):
    """Encryption of authenticator app secrets with a key outside the database."""

    def seal(self, user_id: UUID, secret: bytes) -> str: ...

    def open(self, user_id: UUID, sealed: str) -> bytes | None:
        """Return the secret, or None if this service did not seal the text, or sealed it for another user."""
        ...
