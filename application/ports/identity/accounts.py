"""Proofs of account ownership: passwords, mailed links, and identities at social providers."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.identity.users import IdentityTransaction


class SocialIdentity(Struct, frozen=True, kw_only=True):
    """Identity of a provider's token; ``subject`` is the provider's permanent id of the user.

    ``email_verified``: the provider vouches that the address belongs to the user.
    """

    provider: str
    subject: str
    email: str | None
    email_verified: bool
    name: str


class Authorization(Struct, frozen=True, kw_only=True):
    """Parameters of a browser's redirect to a provider; ``challenge`` is the service's PKCE challenge (S256)."""

    redirect_uri: str
    state: str
    nonce: str
    challenge: str


class ProviderCode(Struct, frozen=True, kw_only=True):
    """A provider's code from a browser, with the parameters of the browser's redirect."""

    code: str
    redirect_uri: str
    nonce: str
    verifier: str


class SocialProviders(Protocol):
    """Configured providers."""

    @property
    def names(self) -> Collection[str]:
        """Names of the configured providers."""
        ...

    async def identify(self, provider: str, access_token: str) -> SocialIdentity | None:
        """Return the identity; None for a token refused by the provider or issued to another application.

        Raises ServiceUnavailable without a valid answer from the provider within 3 s.
        """
        ...

    @property
    def redirecting(self) -> Collection[str]:
        """Names of providers with a client secret, to which a browser can be redirected."""
        ...

    def authorization_url(self, provider: str, asked: Authorization) -> str:
        """Return the provider's address for a browser; the provider redirects to ``redirect_uri`` with a code."""
        ...

    async def redeem(self, provider: str, code: ProviderCode) -> SocialIdentity | None:
        """Return the identity, or None if the provider refuses the code or the id token has another ``nonce``.

        Raises ServiceUnavailable as ``identify`` does.
        """
        ...


class LinkedProvider(Struct, frozen=True, rename="camel"):
    """A social identity of a user, as its owner sees it."""

    provider: str
    linked_at: datetime


class SocialIdentities(Protocol):
    async def of_user(self, user_id: UUID) -> list[LinkedProvider]:
        """Return the user's identities in the order of linking."""
        ...

    async def user_of(self, provider: str, subject: str) -> UUID | None:
        """Return the user linked to the identity."""
        ...

    async def link(self, provider: str, subject: str, user_id: UUID, at: datetime) -> bool:
        """Link the identity to the user; return False if it is already linked."""
        ...

    async def unlink(self, user_id: UUID, provider: str) -> bool:
        """Remove the user's links to a provider; return False if no link exists."""
        ...

    async def unlink_all(self, user_id: UUID) -> None:
        """Remove every link of the user."""
        ...


Purpose = Literal["confirm", "reset"]


class OneTimeToken(Struct, frozen=True, kw_only=True):
    """Token of a mailed link, stored as the hash of its secret; ``number`` grows in the order of the requests.

    ``issued_at`` is the time of the latest mail.
    """

    user_id: UUID
    email_key: str
    purpose: Purpose
    number: int
    hash: str
    issued_at: datetime
    expires_at: datetime


class OneTimeTokens(Protocol):
    """Tokens of a user; several can be valid at the same time.

    The service issues tokens of one purpose at least LINKS_APART apart.
    """

    async def issue(self, token: OneTimeToken) -> bool:
        """Issue or renew the token.

        Return False if the user has used this token or a newer one of the purpose, or if the address received another
        one less than LINKS_APART ago. Only one of several concurrent calls returns True.
        """
        ...

    async def living(self, purpose: Purpose, token_hash: str, now: datetime) -> OneTimeToken | None:
        """Return the token with this hash, or None if it is used or expired."""
        ...

    async def consume(self, purpose: Purpose, token_hash: str, now: datetime) -> bool:
        """Mark the token as used; only one of several parallel calls for a valid token returns True."""
        ...

    async def forget(self, user_id: UUID, purposes: Sequence[Purpose], at: datetime) -> None:
        """Mark all tokens of the user for these purposes as used."""
        ...


class Credentials(Protocol):
    """Changes of single columns of an account, without effect on concurrent changes of other columns."""

    async def set_password(self, user_id: UUID, password_hash: str, at: datetime) -> None:
        """Store a password that the user chose, and clear the requirement to change it."""
        ...

    async def confirm_email(self, user_id: UUID, email_key: str, at: datetime) -> bool:
        """Mark the address as confirmed and proved; return False if the account has another address by now.

        ``email_proved_at`` is the time of the first proof. The first proof unlinks all earlier social identities,
        because they may be another user's.
        """
        ...

    async def end_passkey_logins(self, user_id: UUID, before: datetime | None) -> int:
        """Restrict passkeys registered before ``before``, or all, to second factors; return their number."""
        ...


class EmailChange(Struct, frozen=True, kw_only=True):
    """Requested new address of an account, until the user opens the link; ``hash`` is the hash of the link's secret.

    ``mailed_at`` are the times of the link mails within the last day. ``email`` is empty after the end of the request.
    """

    user_id: UUID
    email: str
    email_key: str
    hash: str
    requested_at: datetime
    expires_at: datetime
    mailed_at: tuple[datetime, ...] = ()


class EmailChanges(Protocol):
    """Address changes that are not yet proved; an account has at most one.

    ``Users.save`` with a new address ends the change, as does ``Users.remove``.
    """

    async def of_user(self, user_id: UUID) -> EmailChange | None: ...

    async def by_hash(self, hashed: str, now: datetime) -> EmailChange | None:
        """Return the change by the hash of its link's secret, or None if the change has expired."""
        ...

    async def save(self, change: EmailChange) -> None:
        """Store the change in place of the user's former one, and invalidate the former link."""
        ...

    async def end(self, user_id: UUID) -> bool:
        """End the user's change and its link; only one of several parallel calls returns True.

        After this ``of_user`` still returns the times of the change's mails, but not the requested address.
        """
        ...


class AccountTransaction(IdentityTransaction, Protocol):
    """Transaction for users' own accounts."""

    @property
    def email_changes(self) -> EmailChanges: ...

    @property
    def one_time_tokens(self) -> OneTimeTokens: ...
    @property
    def credentials(self) -> Credentials: ...
    @property
    def social(self) -> SocialIdentities: ...
