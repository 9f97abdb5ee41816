"""Sessions, as the database keeps them, and the tokens that stand for them outside."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct, UnsetType

from application.ports.identity.users import IdentityTransaction, VerifiedIdentity
from domain.audit import AuditEvent, Client
from domain.identity.sessions import Lifetimes, RefreshToken, Session
from domain.identity.tokens import Claims
from domain.identity.users import AccountState


class NewLogin(Struct, frozen=True):
    """A session that begins, and what is noted with it. Failed attempts of ``forgiven``, a network, are taken back."""

    verified: VerifiedIdentity
    session: Session
    forgiven: str | None
    line: AuditEvent


class Sessions(Protocol):
    async def by_id(self, session_id: UUID) -> Session | None: ...

    async def with_account_state(self, session_id: UUID) -> tuple[Session, AccountState] | None:
        """The session and what its user may do, both of one snapshot; None when either is gone."""
        ...

    async def begin(self, entry: NewLogin) -> bool:
        """All of it, and the password's hash is renewed unless another has been stored since it was seen.

        False, and nothing is noted, when since it was verified the account is gone or was given another password, or,
        for who came from a social provider, was taken over by its owner; until it is noted, none can happen.
        """
        ...

    async def rotate(self, session: Session, seen: int) -> bool:
        """Stores the session's new counter, tenant and time if its counter is still ``seen`` and it has not ended."""
        ...

    async def end(self, session_id: UUID, at: datetime) -> bool: ...

    async def living(self, user_id: UUID, now: datetime, lifetimes: Lifetimes) -> list[Session]:
        """Those neither ended nor expired, the last used first."""
        ...


class SessionTransaction(IdentityTransaction, Protocol):
    """The rooms of the database that signing in and out works in."""

    @property
    def sessions(self) -> Sessions: ...


class Authentication(Protocol):
    """Who knows a password; application/identity/login/authentication.py finds out."""

    async def by_password(
        self, email: str, password: str, is_encrypted: bool | UnsetType, client: Client
    ) -> VerifiedIdentity:
        """Raises AccountLocked, InvalidCredentials (unknown and wrong alike, in the same time), TooBusy."""
        ...


class Applications(Protocol):
    """Which applications may be signed in to, and by whom; application/identity/login/applications.py knows."""

    async def ensure_takes(self, app_id: str | None, tenant_id: UUID | None, permissions: Sequence[str]) -> None:
        """Raises Forbidden. ``tenant_id`` None is a Global Token's: tenant and permissions are asked later."""
        ...


class Tokens(Protocol):
    """Signs and reads access tokens with the keys that the keyring holds."""

    def sign(self, claims: Claims, now: datetime) -> str: ...

    def read(self, token: str, now: datetime) -> Claims:
        """Raises TokenInvalid for anything that is not ours in every part, TokenExpired past ``exp``.

        A verified token may be remembered until it ends; its age is still checked.
        """
        ...


class RefreshTokens(Protocol):
    """Seals what a refresh token says, with a key that is not in the database; the same input, the same text."""

    def seal(self, token: RefreshToken) -> str: ...

    def open(self, text: str) -> RefreshToken | None:
        """None for anything that was not sealed here."""
        ...
