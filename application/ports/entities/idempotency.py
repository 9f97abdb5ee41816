"""Responses stored under an Idempotency-Key, in the transaction of the write."""

from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.entities.records import Records


class Claim(Struct, frozen=True, kw_only=True):
    """A user's idempotency key; ``fingerprint`` identifies the content of the request."""

    tenant_id: UUID
    user_id: UUID
    key: str
    fingerprint: str


class StoredResponse(Struct, frozen=True):
    """The response to the first request with a key."""

    fingerprint: str
    answer: bytes


class IdempotencyStore(Protocol):
    """Store of responses by idempotency keys; both methods are called in one transaction in the claim's tenant."""

    async def claim(self, claim: Claim, now: datetime) -> StoredResponse | None:
        """The response stored under this key within KEPT_FOR; None reserves the key for the caller.

        A second transaction that claims the key waits for the end of the first.
        """
        ...

    async def keep(self, claim: Claim, answer: bytes, now: datetime) -> None:
        """Stores the response under the claimed key."""
        ...


class WriteTransaction(Protocol):
    """Parts of the database that writes of rows need."""

    @property
    def records(self) -> Records: ...
    @property
    def answers(self) -> IdempotencyStore: ...

    def savepoint(self) -> AbstractAsyncContextManager[None]:
        """Part of a transaction: an error that leaves the block undoes what it wrote, and the transaction goes on."""
        ...
