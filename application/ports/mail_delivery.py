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
    """A rendered mail; its id becomes the Message-ID, so that a mail server can recognise a repeated mail."""

    id: UUID
    to: str
    subject: str
    text: str
    html: str


class MailRenderer(Protocol):
    def write(self, letter: MailContent) -> Message:
        """Render the mail; values chosen by users are always text, never markup, template or header."""
        ...


class Undeliverable(Exception):
    """The server permanently refuses this message for this address."""


class MailServerUnavailable(Exception):
    """The server cannot accept messages now."""


class MailBacklog(Struct, frozen=True, kw_only=True):
    """Mails of the outbox: how many wait, the time of the oldest, and how many are undeliverable."""

    waiting: int
    oldest: datetime | None
    given_up: int


class OutboxState(Protocol):
    """State of the outbox for operators."""

    async def backlog(self) -> MailBacklog:
        """Return the numbers of mails; a mail that an operator requested again counts as waiting since that request."""
        ...


class WatchedTransaction(Protocol):
    """Transaction for operators' metrics."""

    @property
    def outbox_state(self) -> OutboxState: ...


class Mailer(Protocol):
    async def send(self, message: Message) -> None:
        """Wait until the server has accepted the message. Raises Undeliverable or MailServerUnavailable."""
        ...


class ReceivedMail(Struct, frozen=True, kw_only=True):
    """A mail delivered as a file; ``at`` is the delivery time."""

    id: UUID
    to: str
    subject: str
    at: datetime
    text: str
    html: str


class Inbox(Protocol):
    """Mails that a service without a mail server delivers as files."""

    async def newest(self, most: int) -> list[ReceivedMail]:
        """Return at most ``most`` mails, newest first."""
        ...

    async def find(self, mail_id: UUID) -> ReceivedMail | None: ...
