"""Sessions in the database, the tokens that stand for them, and the tickets of logins that are not finished."""

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
        """The session and the state of its user's account in one snapshot; None when either is gone."""
        ...

    async def begin(
        self, login: Login, line: AuditEvent, *, forgiven: str | None = None, notice: Mail | None = None
    ) -> list[UUID] | None:
        """Stores the login's session, the audit line and a renewed hash in one statement; resets failed attempts.

        ``forgiven`` is the network whose attempts are reset. ``notice`` is a mail for a login from a device that no
        session has, and a network that is not known. Networks are known for passwords alone: without ``forgiven`` an
        address that a session began from is known.

        Of more than SESSIONS_AT_MOST sessions of the user, those end that were unused for longest: their ids are the
        answer, and their tokens are the caller's to revoke.

        None, with nothing stored, when the account changed since it was verified: it was deleted or disabled, got
        another password, or, for a social login, was claimed by its owner. The hash is renewed only if it is still the
        one that was seen.
        """
        ...

    async def rotate(self, session: Session, seen: int) -> bool:
        """Stores the session's new counter, tenant, time and proof.

        False, with nothing stored, when its counter is not ``seen`` or it has ended.
        """
        ...

    async def end(self, session_id: UUID, at: datetime) -> bool:
        """Ends the session; False when it is unknown or has ended already."""
        ...

    async def keep_out(self, user_id: UUID, tenant_id: UUID, at: datetime) -> None:
        """Sets ``sessions_ended_at`` of the membership; does nothing for who is no member. The user must be locked."""
        ...

    async def living(self, user_id: UUID, now: datetime, lifetimes: Lifetimes) -> list[Session]:
        """The user's sessions that neither ended nor expired, the last used first."""
        ...


class SessionTransaction(IdentityTransaction, Protocol):
    """Parts of the database that signing in and out needs."""

    @property
    def sessions(self) -> Sessions: ...


class Tokens(Protocol):
    """Signs and verifies access tokens with the keys of the keyring."""

    def sign(self, claims: Claims, now: datetime) -> str: ...

    def read(self, token: str, now: datetime) -> Claims:
        """The claims. Raises TokenInvalid for any token that was not issued here, TokenExpired past ``exp``.

        A verified token may be cached until it ends; its times are checked every time.
        """
        ...


# Deterministic, so that a repeated refresh within the grace gets the very same token again.
class RefreshTokens(Protocol):
    """Encrypts refresh tokens with a key that is not in the database; deterministic: equal tokens give equal texts."""

    def seal(self, token: RefreshToken) -> str: ...

    def open(self, text: str) -> RefreshToken | None:
        """The content, None for any text that was not sealed here."""
        ...


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
