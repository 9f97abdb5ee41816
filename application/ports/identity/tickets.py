"""Tickets: sealed texts that a client keeps between two steps, so that what is begun needs no row."""

from datetime import datetime
from typing import Generic, Literal, Protocol, TypeVar

from msgspec import Struct

T = TypeVar("T", bound=Struct)

TicketKind = Literal["mfa", "totp", "passkey", "sso", "code", "social"]


class Ticket(Struct, Generic[T], frozen=True):
    """A ticket that was opened.

    Whoever acts on it first consumes ``id`` as a nonce (``UsedNonces``), until ``until``, so that it serves once.
    """

    id: str
    content: T
    until: datetime


class Tickets(Protocol):
    """Seals tickets with keys that are not in the database, a key for each kind."""

    def seal(self, kind: TicketKind, content: Struct, until: datetime) -> str: ...

    # Security: a ticket must not tell why it is refused.
    def open(self, kind: TicketKind, text: str, content: type[T], now: datetime) -> Ticket[T] | None:
        """The ticket; None for any text that was not sealed here as this kind and content, and from ``until`` on."""
        ...
