"""Sessions in the database, their tokens, and tickets of unfinished logins."""

from datetime import datetime
from typing import Generic, Literal, Protocol, TypeVar
from uuid import UUID

from msgspec import Struct

from application.ports.database import Mail
from application.ports.identity.users import IdentityTransaction
from domain.identity.logins import Login
from domain.identity.tokens import Claims, Lifetimes, RefreshToken, Session
from domain.identity.users import AccountState
from domain.scope import AuditEvent


class Sessions(Protocol):
    async def by_id(self, session_id: UUID) -> Session | None: ...

    async def with_account_state(self, session_id: UUID) -> tuple[Session, AccountState] | None:
        """Return the session and its user's account state in one snapshot; None if either is missing."""
        ...

    async def begin(
        self, login: Login, line: AuditEvent, *, forgiven: str | None = None, notice: Mail | None = None
    ) -> list[UUID] | None:
        """Store the login's session, its audit entry and a renewed hash in one statement, and reset failed attempts.

        ``forgiven`` is the network with the attempts to reset. ``notice`` is a mail for a login from a device without a
        session and from an unknown network. Only password logins make networks known; without ``forgiven``, an address
        is known if a session began from it.

        If the user has more than SESSIONS_AT_MOST sessions, end those unused longest. Return their ids; the caller MUST
        revoke their tokens.

        Return None, and store nothing, if the account changed since its verification: it was deleted or disabled, got
        another password, or, for a social login, was claimed by its owner. The hash is renewed only if it is unchanged.
        """
        ...

    async def rotate(self, session: Session, seen: int) -> bool:
        """Store the session's new counter, tenant, time and proof.

        Return False, and store nothing, if the stored counter is not ``seen`` or the session has ended.
        """
        ...

    async def end(self, session_id: UUID, at: datetime) -> bool:
        """End the session; return False if it is unknown or ended."""
        ...

    async def keep_out(self, user_id: UUID, tenant_id: UUID, at: datetime) -> None:
        """Set ``sessions_ended_at`` of the membership, if any.

        The user must be locked.
        """
        ...

    async def living(self, user_id: UUID, now: datetime, lifetimes: Lifetimes) -> list[Session]:
        """Return the user's sessions neither ended nor expired, last used first."""
        ...


class SessionTransaction(IdentityTransaction, Protocol):
    """Transaction for login and logout."""

    @property
    def sessions(self) -> Sessions: ...


class Tokens(Protocol):
    """Access tokens, signed and verified with the keys of the keyring."""

    def sign(self, claims: Claims, now: datetime) -> str: ...

    def read(self, token: str, now: datetime) -> Claims:
        """Return the claims.

        Raises TokenInvalid for a token that this service did not issue, TokenExpired after ``exp``.

        An implementation may cache a verified token until it expires, but checks its times at every call.
        """
        ...


# Deterministic, so that a repeated refresh within the grace period gets the same token.
class RefreshTokens(Protocol):
    """Encrypts refresh tokens with a key outside the database; deterministic: equal tokens give equal texts."""

    def seal(self, token: RefreshToken) -> str: ...

    def open(self, text: str) -> RefreshToken | None:
        """Return the content, or None for a text that this service did not seal."""
        ...


T = TypeVar("T", bound=Struct)

TicketKind = Literal["mfa", "totp", "passkey", "sso", "code", "social", "file"]


class Ticket(Struct, Generic[T], frozen=True):
    """An opened ticket.

    The first use consumes ``id`` as a nonce (``UsedNonces``), until ``until``, so the ticket works only once.
    """

    id: str
    content: T
    until: datetime


class Tickets(Protocol):
    """Tickets, sealed with keys outside the database; each kind has a separate key."""

    def seal(self, kind: TicketKind, content: Struct, until: datetime) -> str: ...

    # Security: the caller must not learn the reason of a refusal, so return None for every fault.
    def open(self, kind: TicketKind, text: str, content: type[T], now: datetime) -> Ticket[T] | None:
        """Return the ticket; None after ``until``, and for a text not sealed here with this kind and content."""
        ...
