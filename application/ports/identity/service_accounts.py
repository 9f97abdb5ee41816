"""Service accounts and their API keys, as the database keeps them. Every method names the tenant, or the key itself."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.identity.users import IdentityTransaction, Listing
from domain.identity.service_accounts import ApiKey, KeyState, ServiceAccount


class ListedServiceAccount(Struct, frozen=True):
    """An account with the number of its living keys, the last use of any key it ever had, and the end of the living key
    that ends first."""

    account: ServiceAccount
    keys: int
    last_used_at: datetime | None
    next_end: datetime | None


class KeyUse(Struct, frozen=True):
    """The last use of a key that a process has seen."""

    key_id: UUID
    at: datetime
    address: str


class ServiceAccounts(Protocol):
    async def page(self, listing: Listing, now: datetime) -> tuple[list[ListedServiceAccount], int]:
        """The page and the total for ``listing.tenant_id``; the search looks at name and description, without case."""
        ...

    async def get(self, tenant_id: UUID, account_id: UUID, now: datetime) -> ListedServiceAccount | None:
        """The account; None for a deleted one and one of another tenant."""
        ...

    async def lock(self, tenant_id: UUID) -> int:
        """The number of the tenant's accounts; others who ask wait until the transaction ends."""
        ...

    async def add(self, account: ServiceAccount) -> None:
        """Stores a new account with its roles. Raises Conflict on ``name``, compared without case in the tenant.

        Raises NotFound when the tenant is deleted; otherwise nobody deletes it until the transaction ends.
        """
        ...

    async def save(self, account: ServiceAccount) -> None:
        """Stores name, description, state and roles of an account. Raises Conflict and NotFound as ``add`` does."""
        ...

    async def remove(self, tenant_id: UUID, account_id: UUID, at: datetime) -> None:
        """Marks the account deleted, takes its roles and ends its keys; its name is free again."""
        ...


class ApiKeys(Protocol):
    async def lock(self, tenant_id: UUID, account_id: UUID, now: datetime) -> int:
        """The number of the account's living keys; others who change the account or its keys wait for the end."""
        ...

    async def of_account(self, tenant_id: UUID, account_id: UUID, now: datetime) -> list[ApiKey]:
        """The living keys, the oldest first."""
        ...

    async def add(self, key: ApiKey, digest: bytes) -> None: ...

    async def end(self, key: ApiKey, at: datetime) -> bool:
        """Ends the key at ``at``, which may lie ahead; False when it ends by then already."""
        ...

    async def state(self, digest: bytes) -> KeyState | None:
        """The key with this digest, its account with roles, and the token versions of both, in one snapshot.

        Ended keys are found too, until they are removed; a key of a deleted account is not.
        """
        ...

    async def note_uses(self, uses: Sequence[KeyUse]) -> None:
        """Stores the last uses, in columns of their own; an older use never replaces a later one."""
        ...

    async def take_expiring(self, now: datetime, until: datetime, most: int) -> list[ApiKey]:
        """Living keys that expire by ``until``, each handed to one caller, once."""
        ...


class ServiceAccountTransaction(IdentityTransaction, Protocol):
    """Parts of the database that service accounts need."""

    @property
    def service_accounts(self) -> ServiceAccounts: ...
    @property
    def api_keys(self) -> ApiKeys: ...
