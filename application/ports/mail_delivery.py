"""Delivery of mails: their content, rendering and sending."""

from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.database import MailKind
from domain.words.languages import LANGUAGES


class MailContent(Struct, frozen=True, kw_only=True):
    """Content of a mail; ``link`` is None for a notice, ``lifetime`` is how long the link works. ``code`` is the secret
    of the link, for readers who have to type it.

    ``tenant`` and ``person`` are names of what the mail is about, ``has_account`` says that the reader has an account.
    ``language`` is one of ``LANGUAGES`` (domain/words/languages.py).
    """

    id: UUID
    kind: MailKind
    to: str
    name: str
    address: str
    at: datetime
    link: str | None = None
    code: str | None = None
    lifetime: timedelta = timedelta()
    tenant: str = ""
    person: str = ""
    has_account: bool = False
    language: str = LANGUAGES[0]


class Message(Struct, frozen=True, kw_only=True):
    """A rendered mail; the id becomes its Message-ID, so that a repeated mail is recognised."""

    id: UUID
    to: str
    subject: str
    text: str
    html: str


class MailRenderer(Protocol):
    def write(self, letter: MailContent) -> Message:
        """Renders the mail; values chosen by users are text in it, never markup, template or header."""
        ...


class Undeliverable(Exception):
    """The server refuses this message for this address for good."""


class MailServerUnavailable(Exception):
    """The server cannot take any message now."""


class MailBacklog(Struct, frozen=True, kw_only=True):
    """Mails of the outbox: those that wait, since when the oldest of them does, and those that were given up."""

    waiting: int
    oldest: datetime | None
    given_up: int


class OutboxState(Protocol):
    """The outbox as an operator watches it."""

    async def backlog(self) -> MailBacklog:
        """Numbers of mails; one that an operator made due again waits since then."""
        ...


class WatchedTransaction(Protocol):
    """Parts of the database that the operator's metrics are read from."""

    @property
    def outbox_state(self) -> OutboxState: ...


class Mailer(Protocol):
    async def send(self, message: Message) -> None:
        """Returns once the server has accepted the message. Raises Undeliverable or MailServerUnavailable."""
        ...


class ReceivedMail(Struct, frozen=True, kw_only=True):
    """A mail that was delivered as a file; ``at`` is the time of its delivery."""

    id: UUID
    to: str
    subject: str
    at: datetime
    text: str
    html: str


class Inbox(Protocol):
    """Mails that were delivered as files, where a service has no mail server."""

    async def newest(self, most: int) -> list[ReceivedMail]:
        """At most ``most`` mails, the newest first."""
        ...

    async def find(self, mail_id: UUID) -> ReceivedMail | None: ...
