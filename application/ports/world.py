"""What every use case stands on: the database, time and ids, passwords, revocation, a cache, the audit trail, mail."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Literal, Protocol, TypeVar
from uuid import UUID

from msgspec import Struct, UnsetType

from domain.audit import AuditEvent
from domain.scope import Scope

Rooms_co = TypeVar("Rooms_co", covariant=True)
"""The rooms of the database that a use case works in; each file of ports names its own."""


class Database(Protocol[Rooms_co]):
    """The one store of truth. Raises ServiceUnavailable while it is away, and recovers by itself when it is back."""

    def transaction(self, scope: Scope) -> AbstractAsyncContextManager[Rooms_co]:
        """Leaving it commits, an exception rolls all of it back; inside, nothing else is awaited."""
        ...

    def reading(self, scope: Scope) -> AbstractAsyncContextManager[Rooms_co]:
        """A connection without a transaction around it: each statement stands, and commits, alone."""
        ...


class Listing(Struct, frozen=True, kw_only=True):
    """A page of users or tenants. ``tenant_id`` None lists all; ``role`` is a role's name.

    ``sort_by`` is a Python field name of what is listed; ties are broken by id.
    """

    page: int = 1
    page_size: int = 20
    search: str | None = None
    tenant_id: UUID | None = None
    role: str | None = None
    is_active: bool | None = None
    sort_by: str = "created_at"
    descending: bool = True


class Clock(Protocol):
    def now(self) -> datetime:
        """An aware datetime in UTC."""
        ...


class Ids(Protocol):
    def new(self) -> UUID:
        """A UUIDv7: later ones sort after earlier ones of the same process."""
        ...


class Passwords(Protocol):
    """Hashing runs off the event loop, as many at a time as there are cores, behind a bounded queue.

    Raises TooBusy when the queue is full: then nothing was computed.
    """

    async def hash(self, password: str) -> str: ...

    async def verify(self, password: str, stored: str | None) -> bool:
        """False for None and for what is no hash, after the time that a real one takes.

        Takes the password as it was typed: our own hashes are of its NFKC, imported ones of what was typed.
        """
        ...

    def is_outdated(self, stored: str) -> bool:
        """Whether a stored hash is weaker than what ``hash`` makes now."""
        ...


class SentPasswords(Protocol):
    """How a password in a body is read; application/sent_passwords.py does."""

    async def read(self, text: str, is_encrypted: bool | UnsetType, field: str) -> str:
        """The password itself, ``is_encrypted`` being UNSET where nothing was said about it.

        Raises ValidationError on ``field`` for what was not sent as it must be.
        """
        ...


class Revocations(Protocol):
    """The shared copy of the revocation counts, as seen by who raises them."""

    def raising(self, subjects: Sequence[str]) -> AbstractAsyncContextManager[dict[str, int]]:
        """Around the transaction that raises revocation counts: the subjects are unsettled from before it begins.

        The caller puts the new counts into the yielded dictionary once they are committed; leaving without them
        means that nothing was changed. A process that dies inside leaves the subjects unsettled, which means that
        everyone asks the database.
        """
        ...


TOMBSTONE = timedelta(seconds=10)
"""Longer than any reader holds a value that it read before a change."""


class Cache(Protocol):
    """Shared by all processes, and never an error: with the memory behind it away nothing is known, and nothing kept.

    A value that could not be dropped is the reader's to tell: it says itself what it was built from.
    """

    async def get(self, key: str) -> bytes | None: ...

    async def put(self, key: str, value: bytes, lifetime: timedelta) -> None:
        """Replaces what was kept, and does nothing within TOMBSTONE of a ``drop``."""
        ...

    async def drop(self, keys: Sequence[str]) -> None:
        """Forgets, and keeps readers from before the change from putting the old value back."""
        ...


class RevocationCounts(Protocol):
    async def of(self, subjects: Sequence[str]) -> dict[str, int]:
        """All of ``subjects``, 0 for those never raised."""
        ...

    async def raise_all(self, subjects: Sequence[str]) -> Mapping[str, int]:
        """Adds one to each and answers the new counts; subjects are locked in one order."""
        ...

    async def end(self, subjects: Sequence[str], at: datetime) -> None:
        """No token is issued under them any more: their counts may go once the last one must have ended."""
        ...


class AuditTrail(Protocol):
    async def add(self, tenant_id: UUID, event: AuditEvent) -> None: ...


MailKind = Literal["confirmation", "reset", "welcome", "password-changed", "session-stolen", "email-changed"]


class Mail(Struct, frozen=True, kw_only=True):
    """What is to be said to somebody; how, is decided when it is sent. ``id`` is new, ``address`` the client's.

    The first three kinds carry a link: their ``recipient`` is the key of an address, and they go to the account that
    has it when they are sent, or to nobody. The others are notices, and their ``recipient`` is a stored address.
    """

    id: UUID
    kind: MailKind
    recipient: str
    name: str = ""
    address: str = ""
    at: datetime


class Outbox(Protocol):
    async def add(self, mail: Mail) -> None:
        """Sent if, and only if, the transaction commits: one statement, whoever the recipient may be."""
        ...
