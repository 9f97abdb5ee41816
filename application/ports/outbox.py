"""The outbox: mails written in the transaction of what caused them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal, Protocol
from uuid import UUID

from msgspec import Struct

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


class Outbox(Protocol):
    """A mail stays in the outbox until it is done: nothing is lost by whoever dies while sending it."""

    async def add(self, mail: Mail) -> None:
        """Sent if, and only if, the transaction commits: one statement, whoever the recipient may be."""
        ...

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
