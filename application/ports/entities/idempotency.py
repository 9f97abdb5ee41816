"""Responses stored under an Idempotency-Key, in the transaction of the write."""

from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.entities.records import Records


class Claim(Struct, frozen=True, kw_only=True):
    """A user's idempotency key; ``fingerprint`` identifies the request's content."""

    tenant_id: UUID
    user_id: UUID
    key: str
    fingerprint: str


class StoredResponse(Struct, frozen=True):
    """The response to the first request with a key."""

    fingerprint: str
    answer: bytes


class IdempotencyStore(Protocol):
    """Responses by idempotency keys. The caller MUST call both methods in one transaction in the claim's tenant."""

    async def claim(self, claim: Claim, now: datetime) -> StoredResponse | None:
        """Return the response stored under this key within KEPT_FOR; None if the key is new and now reserved for the
        caller.

        A second transaction with the key waits until the first one ends.
        """
        ...

    async def keep(self, claim: Claim, answer: bytes, now: datetime) -> None:
        """Store the response under the claimed key."""
        ...


class WriteTransaction(Protocol):
    """Transaction for writes of rows."""

    @property
    def records(self) -> Records: ...
    @property
    def whole_records(self) -> Records: ...
    @property
    def answers(self) -> IdempotencyStore: ...

    def savepoint(self) -> AbstractAsyncContextManager[None]:
        """Open a savepoint: an error in the block undoes its writes, and the transaction continues."""
        ...
