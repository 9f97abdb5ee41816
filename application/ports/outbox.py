"""The outbox: mails written in the transaction of what caused them."""

from datetime import datetime
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


class Outbox(Protocol):
    async def add(self, mail: Mail) -> None:
        """Sent if, and only if, the transaction commits: one statement, whoever the recipient may be."""
        ...
