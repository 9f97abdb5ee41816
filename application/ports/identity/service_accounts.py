"""Service accounts and their API keys in the database. Every method requires the tenant, or the key."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.identity.users import IdentityTransaction, Listing
from domain.identity.service_accounts import ApiKey, KeyState, ServiceAccount


class ListedServiceAccount(Struct, frozen=True):
    """An account with the number of its live keys, the last use of any key, and the first expiry of a live key."""

    account: ServiceAccount
    keys: int
    last_used_at: datetime | None
    next_end: datetime | None


class KeyUse(Struct, frozen=True):
    """Last use of a key seen by a process."""

    key_id: UUID
    at: datetime
    address: str


class ServiceAccounts(Protocol):
    async def page(self, listing: Listing, now: datetime) -> tuple[list[ListedServiceAccount], int]:
        """Return the page and the total for ``listing.tenant_id``; search covers name and description, without case."""
        ...

    async def get(self, tenant_id: UUID, account_id: UUID, now: datetime) -> ListedServiceAccount | None:
        """Return the account; None for a deleted one and one of another tenant."""
        ...

    async def lock(self, tenant_id: UUID) -> int:
        """Return the number of the tenant's accounts; concurrent calls wait until the transaction ends."""
        ...

    async def add(self, account: ServiceAccount) -> None:
        """Store a new account with its roles.

        Raises Conflict on ``name`` if another account of the tenant has it, ignoring case.

        Raises NotFound if the tenant is deleted; otherwise locks the tenant against deletion until the transaction
        ends.
        """
        ...

    async def save(self, account: ServiceAccount) -> None:
        """Store name, description, state and roles of an account. Raises Conflict and NotFound as ``add`` does."""
        ...

    async def remove(self, tenant_id: UUID, account_id: UUID, at: datetime) -> None:
        """Mark the account deleted, remove its roles, end its keys, and free its name for other accounts."""
        ...


class ApiKeys(Protocol):
    async def lock(self, tenant_id: UUID, account_id: UUID, now: datetime) -> int:
        """Return the number of the account's live keys; its concurrent changes wait until the transaction ends."""
        ...

    async def of_account(self, tenant_id: UUID, account_id: UUID, now: datetime) -> list[ApiKey]:
        """Return the live keys, oldest first."""
        ...

    async def add(self, key: ApiKey, digest: bytes) -> None: ...

    async def end(self, key: ApiKey, at: datetime) -> bool:
        """End the key at ``at``, possibly in the future; return False if it already ends at that time or earlier."""
        ...

    async def state(self, digest: bytes) -> KeyState | None:
        """Return the key with this digest, its account with roles, and the token versions of both, in one snapshot.

        Finds ended keys until they are removed, but no key of a deleted account.
        """
        ...

    async def note_uses(self, uses: Sequence[KeyUse]) -> None:
        """Store the last uses in separate columns; an older use never replaces a later one."""
        ...

    async def take_expiring(self, now: datetime, until: datetime, most: int) -> list[ApiKey]:
        """Claim live keys that expire by ``until``; each key goes to one caller, and only once."""
        ...


class ServiceAccountTransaction(IdentityTransaction, Protocol):
    """Transaction for service accounts."""

    @property
    def service_accounts(self) -> ServiceAccounts: ...
    @property
    def api_keys(self) -> ApiKeys: ...
