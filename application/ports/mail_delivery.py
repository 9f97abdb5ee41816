"""What becomes of a mail once it is in the outbox: taken, written, sent, crossed off."""

from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.outbox import MailKind


class MailContent(Struct, frozen=True, kw_only=True):
    """All that a mail says. ``link`` is None for a notice, ``lifetime`` how long it works."""

    id: UUID
    kind: MailKind
    to: str
    name: str
    address: str
    at: datetime
    link: str | None = None
    lifetime: timedelta = timedelta()


class Message(Struct, frozen=True, kw_only=True):
    """A letter as it is read; the same id is the same message, however often it is sent."""

    id: UUID
    to: str
    subject: str
    text: str
    html: str


class MailRenderer(Protocol):
    def write(self, letter: MailContent) -> Message:
        """What users chose themselves is text in it, never markup, template or header."""
        ...


class Undeliverable(Exception):
    """This message will never be taken for this address."""


class MailServerUnavailable(Exception):
    """Nothing can be sent now."""


class Mailer(Protocol):
    async def send(self, message: Message) -> None:
        """Returns once somebody else has taken it on; raises Undeliverable or MailServerUnavailable."""
        ...


class LinkSecrets(Protocol):
    """What links carry, made with a key that is not in the database, so that the outbox need not hold it."""

    def secret(self, mail_id: UUID) -> str:
        """The same one for the same mail; 256 bits that nobody else can tell."""
        ...
