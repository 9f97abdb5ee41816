"""What becomes of a mail once it is in the outbox: taken, written, sent, crossed off."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.identity.accounts import Accounts
from application.ports.outbox import Mail, MailKind


class Due(Struct, frozen=True, kw_only=True):
    """A mail to be sent now. ``number`` grows in the order of the outbox, ``tries`` counts this one.

    ``since`` is when trying began: when it was put in, or when somebody asked for it to be tried again.
    """

    mail: Mail
    number: int
    tries: int
    since: datetime


class GivenUp(Struct, frozen=True, kw_only=True):
    mail: Mail
    tries: int
    at: datetime
    why: str


class Post(Protocol):
    """A mail stays in the outbox until it is done: nothing is lost by whoever dies while sending it."""

    async def take(self, most: int, now: datetime, held: timedelta) -> Sequence[Due]:
        """The longest due first, each to one taker alone, and due again after ``held`` if nothing more is heard."""
        ...

    async def done(self, mail_id: UUID) -> None: ...

    async def put_off(self, mail_id: UUID, until: datetime) -> None: ...

    async def give_up(self, mail_id: UUID, at: datetime, why: str) -> None:
        """It is kept, for whoever looks, and not due again."""
        ...

    async def given_up(self, most: int) -> Sequence[GivenUp]:
        """The last given up first."""
        ...

    async def try_again(self, mail_id: UUID, now: datetime) -> bool:
        """One that was given up is due now, as if it had just been put in; False when there is none such."""
        ...

    async def drop(self, mail_id: UUID) -> bool:
        """One that was given up goes for good; False when there is none such."""
        ...


class Posting(Accounts, Protocol):
    """The rooms of the database that mails are made from."""

    @property
    def post(self) -> Post: ...


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
