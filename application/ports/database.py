"""The database as a use case sees it, with the two records that any transaction may add: audit events and mails."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Literal, Protocol, TypeVar
from uuid import UUID

from msgspec import Struct

from domain.scope import AuditEvent, Scope

Transaction_co = TypeVar("Transaction_co", covariant=True)
"""The parts of the database that a use case needs; each module of ports names its own."""
Found = TypeVar("Found")

ASKED_BY: ContextVar[UUID | None] = ContextVar("asked_by", default=None)
"""Tenant of the caller whose request is carried out, or the caller without one; None for strangers and the service.

Work on all tenants, such as administration, takes connections of this tenant's share.
"""


class Database(Protocol[Transaction_co]):
    """The system of record. Raises ServiceUnavailable while it is away, and recovers by itself."""

    # A transaction holds locks and a connection: waiting for anything else inside could stop the whole service.
    def transaction(self, scope: Scope) -> AbstractAsyncContextManager[Transaction_co]:
        """A transaction: leaving the block commits, an exception rolls back. Nothing else may be awaited inside."""
        ...

    def read_only(self, scope: Scope) -> AbstractAsyncContextManager[Transaction_co]:
        """A connection for reads, where each statement sees its own snapshot. A write raises InternalError."""
        ...

    def autocommit(self, scope: Scope) -> AbstractAsyncContextManager[Transaction_co]:
        """A connection where each statement commits by itself, for a single write without a transaction."""
        ...


class RowReads(Protocol[Transaction_co]):
    """Reads of rows: by a replica that has all that the reader wrote, else by the system of record.

    Only what a GET asks for may be read here: a replica can be seconds behind what others wrote.
    """

    async def read(self, scope: Scope, question: Callable[[Transaction_co], Awaitable[Found]]) -> Found:
        """Answer to the question, which may be asked twice: of a replica that fails or finds None, then again."""
        ...

    def read_transaction(self, scope: Scope) -> AbstractAsyncContextManager[Transaction_co]:
        """A transaction for reads that take long, such as an export; each statement sees its own snapshot."""
        ...


class AuditTrail(Protocol):
    """Lines that are added and never changed."""

    async def add(self, tenant_id: UUID, event: AuditEvent) -> None: ...

    async def add_to_each(self, tenants: Iterable[UUID], event: AuditEvent) -> None:
        """Adds a line of its own to the trail of each of the tenants, which may be thousands."""
        ...


MailKind = Literal[
    "confirmation",
    "reset",
    "welcome",
    "password-changed",
    "session-stolen",
    "email-changed",
    "email-change",
    "email-change-requested",
    "factor-added",
    "factor-removed",
    "factor-cloned",
    "recovery-code-used",
    "invitation",
    "new-device",
    "identity-linked",
    "identities-unlinked",
    "identity-removed",
    "roles-changed",
    "owner-changed",
    "security-changed",
    "key-expires",
    "join-request",
    "domain-lost",
]

AWAITED: frozenset[MailKind] = frozenset({"confirmation", "reset", "email-change"})
"""Mails that somebody waits for at this moment: they go before notices and invitations, however many those are."""


class AuditedTransaction(Protocol):
    """The part of the database that holds the audit trail."""

    @property
    def audit(self) -> AuditTrail: ...


class Mail(Struct, frozen=True, kw_only=True):
    """A mail to send; its content is made when it is sent. ``id`` is new, ``address`` is the client's.

    ``about`` is the name of what a notice is about, such as a tenant. For ``key-expires`` ``address`` has the first
    characters of the key and the time of its end. ``language`` is that of the reader's browser where it is known, else
    ``""``: the language of the reader's tenant comes before it.

    The first three kinds carry a link: their ``recipient`` is an ``email_key``, and they go to the account with it at
    the time of sending, or to nobody. An ``invitation`` and an ``email-change`` have a link too, and go to their
    address as long as they live.
    The others are notices to a stored address.
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
    """A mail to send now. ``number`` grows in the order of the outbox, ``tries`` includes this one.

    ``since`` is the first try: when it was added, or when an operator asked for another try.
    """

    mail: Mail
    number: int
    tries: int
    since: datetime


class GivenUp(Struct, frozen=True, kw_only=True):
    """A mail that could not be sent, and the last reason."""

    mail: Mail
    tries: int
    at: datetime
    why: str


class Outbox(Protocol):
    """Mails that are not delivered yet; a mail stays until ``done``, so a crash while sending loses none."""

    async def add(self, mail: Mail) -> None:
        """Stores the mail: it is sent if, and only if, the transaction commits. One statement for any recipient."""
        ...

    async def take(self, most: int, now: datetime, held: timedelta) -> Sequence[Due]:
        """Takes the mails that are due, ``AWAITED`` before others, each the longest first.

        Each goes to one caller, and is due again after ``held``.
        """
        ...

    async def done(self, mail_id: UUID) -> None:
        """Removes the mail."""
        ...

    async def put_off(self, mail_id: UUID, until: datetime) -> None:
        """Makes the mail due again at ``until``."""
        ...

    async def give_up(self, mail_id: UUID, at: datetime, why: str) -> None:
        """Keeps the mail for inspection; it is not due any more."""
        ...

    async def given_up(self, most: int) -> Sequence[GivenUp]:
        """Mails that were given up, the latest first."""
        ...

    async def try_again(self, mail_id: UUID, now: datetime) -> bool:
        """Makes a mail that was given up due again, as if it were new; False when there is none."""
        ...

    async def drop(self, mail_id: UUID) -> bool:
        """Deletes a mail that was given up; False when there is none."""
        ...
