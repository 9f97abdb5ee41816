"""The database for use cases, with audit events and mails, which any transaction may add."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Literal, Protocol, TypeVar
from uuid import UUID

from msgspec import Struct

from domain.scope import AuditEvent, Scope

Transaction_co = TypeVar("Transaction_co", covariant=True)
"""Transaction of a use case; each module of ports defines its own."""
Found = TypeVar("Found")

Means = Sequence[str] | None
"""Names of events for the feed, such as ``member.joined``; None for those that the audited action always has."""

ASKED_BY: ContextVar[UUID | None] = ContextVar("asked_by", default=None)
"""Tenant of the caller, or the caller if they have no tenant; None for anonymous callers and the service.

Work on all tenants, such as administration, uses the connections of this tenant's share.
"""


class Database(Protocol[Transaction_co]):
    """The primary database. Raises ServiceUnavailable during an outage, and reconnects automatically."""

    # A transaction holds locks and a connection, so waiting inside could stop the service.
    def transaction(self, scope: Scope) -> AbstractAsyncContextManager[Transaction_co]:
        """Open a transaction: the block's end commits, an exception rolls back. Await nothing else in the block."""
        ...

    def read_only(self, scope: Scope) -> AbstractAsyncContextManager[Transaction_co]:
        """Open a connection for reads; each statement has its own snapshot. A write raises InternalError."""
        ...

    def autocommit(self, scope: Scope) -> AbstractAsyncContextManager[Transaction_co]:
        """Open a connection with automatic commit, for a single write without a transaction."""
        ...


class RowReads(Protocol[Transaction_co]):
    """Reads of rows, from a replica that has all writes of the reader, otherwise from the primary.

    Only GET requests may use it, because a replica can lack the last seconds of other callers' writes.
    """

    async def read(self, scope: Scope, question: Callable[[Transaction_co], Awaitable[Found]]) -> Found:
        """Return the result of a read; repeat the read on the primary if a replica fails or returns None."""
        ...

    def read_transaction(self, scope: Scope) -> AbstractAsyncContextManager[Transaction_co]:
        """Open a transaction for long reads, such as an export; each statement has its own snapshot."""
        ...


class AuditTrail(Protocol):
    """Append-only entries. In a service with a feed, each also adds its ``events`` to the log of changes."""

    async def add(self, tenant_id: UUID, event: AuditEvent, events: Means = None) -> None: ...

    async def add_to_each(self, tenants: Iterable[UUID], event: AuditEvent, events: Means = None) -> None:
        """Add a separate entry to the trail of each tenant, possibly thousands."""
        ...


MailKind = Literal[
    "confirmation", "reset", "welcome", "password-changed", "session-stolen", "email-changed", "email-change",
    "email-change-requested", "factor-added", "factor-removed", "factor-cloned", "recovery-code-used", "invitation",
    "new-device", "identity-linked", "identities-unlinked", "identity-removed", "roles-changed", "owner-changed",
    "security-changed", "key-expires", "join-request", "domain-lost", "webhook-disabled",
]  # fmt: skip

AWAITED: frozenset[MailKind] = frozenset({"confirmation", "reset", "email-change"})
"""Kinds of mail that a user is waiting for: the service sends them before all notices and invitations."""


class AuditedTransaction(Protocol):
    """Transaction that can add entries to the audit trail."""

    @property
    def audit(self) -> AuditTrail: ...


class Mail(Struct, frozen=True, kw_only=True):
    """A mail to send; the service creates its content when it sends the mail.

    ``id`` is new, ``address`` is the client's.

    ``about`` names a notice's subject, such as a tenant. For ``key-expires``, ``address`` has the first characters of
    the key and its end time. ``language`` is that of the reader's browser, or ``""`` if unknown: the language of the
    reader's tenant has priority.

    Mails of the first three kinds carry a link: their ``recipient`` is an ``email_key``, and they go to the account
    that has it at the time of sending, if any. An ``invitation`` and an ``email-change`` also carry a link, and go to
    their address while the invitation or change is live. The others are notices to a stored address.
    """

    id: UUID
    kind: MailKind
    recipient: str
    name: str = ""
    address: str = ""
    at: datetime
    about: str = ""
    language: str = ""


class Due(Struct, frozen=True, kw_only=True):
    """A mail to send now. ``number`` grows in the order of the outbox, ``tries`` includes the current try.

    ``since`` is the start of the tries: the time when the mail was added, or when an operator requested another try.
    """

    mail: Mail
    number: int
    tries: int
    since: datetime


class GivenUp(Struct, frozen=True, kw_only=True):
    """A mail that could not be sent, with the last reason."""

    mail: Mail
    tries: int
    at: datetime
    why: str


class Outbox(Protocol):
    """Undelivered mails. The outbox stores a mail until ``done``, so a crash while sending loses no mail."""

    async def add(self, mail: Mail) -> None:
        """Store the mail; the service sends it only if the transaction commits. One statement for any recipient."""
        ...

    async def take(self, most: int, now: datetime, held: timedelta) -> Sequence[Due]:
        """Claim due mails, first the kinds ``AWAITED``, and in each group the longest due first.

        Each mail goes to one caller, and is due again after ``held``.
        """
        ...

    async def done(self, mail_id: UUID) -> None:
        """Remove the mail."""
        ...

    async def put_off(self, mail_id: UUID, until: datetime) -> None:
        """Make the mail due again at ``until``."""
        ...

    async def give_up(self, mail_id: UUID, at: datetime, why: str) -> None:
        """Store the mail for inspection, and do not try to send it again."""
        ...

    async def given_up(self, most: int) -> Sequence[GivenUp]:
        """Return undeliverable mails, latest first."""
        ...

    async def try_again(self, mail_id: UUID, now: datetime) -> bool:
        """Make an undeliverable mail due again, as if it were new; return False if the mail does not exist."""
        ...

    async def drop(self, mail_id: UUID) -> bool:
        """Delete an undeliverable mail; return False if the mail does not exist."""
        ...
