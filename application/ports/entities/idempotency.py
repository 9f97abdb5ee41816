"""First answers to requests that may come twice, kept in the transaction of what they did."""

from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.entities.records import Records

KEPT_FOR = timedelta(hours=24)


class Claim(Struct, frozen=True, kw_only=True):
    """Who says under which key that this is one request, whichever time it comes; ``fingerprint`` is what is asked."""

    tenant_id: UUID
    user_id: UUID
    key: str
    fingerprint: str


class StoredResponse(Struct, frozen=True):
    fingerprint: str
    answer: bytes


class IdempotencyStore(Protocol):
    """Both are called in one transaction, whose scope is the claim's tenant."""

    async def claim(self, claim: Claim, now: datetime) -> StoredResponse | None:
        """What was kept under this key within KEPT_FOR; None makes the key the caller's own.

        Of two transactions that claim one key the second waits for the end of the first.
        """
        ...

    async def keep(self, claim: Claim, answer: bytes, now: datetime) -> None: ...


class WriteTransaction(Protocol):
    """The rooms of the database that a write of rows works in."""

    @property
    def records(self) -> Records: ...
    @property
    def answers(self) -> IdempotencyStore: ...
