"""Proofs that an account is somebody's: its password, links sent to its address, identities at social providers."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.identity.users import IdentityTransaction


class SocialIdentity(Struct, frozen=True, kw_only=True):
    """Identity behind a provider's token; ``subject`` is the provider's permanent id of the user.

    ``email_verified``: the provider vouches that the address belongs to the user.
    """

    provider: str
    subject: str
    email: str | None
    email_verified: bool
    name: str


class Authorization(Struct, frozen=True, kw_only=True):
    """Parameters of a browser's way to a provider; ``challenge`` is the S256 challenge of our own verifier."""

    redirect_uri: str
    state: str
    nonce: str
    challenge: str


class ProviderCode(Struct, frozen=True, kw_only=True):
    """A provider's code that a browser brings back, with the parameters with which the browser was sent there."""

    code: str
    redirect_uri: str
    nonce: str
    verifier: str


class SocialProviders(Protocol):
    """Providers that are configured."""

    @property
    def names(self) -> Collection[str]:
        """Names of the configured providers."""
        ...

    async def identify(self, provider: str, access_token: str) -> SocialIdentity | None:
        """The identity; None for a token that the provider refuses or that was issued to another application.

        Raises ServiceUnavailable when the provider gives no valid answer within 3 s.
        """
        ...

    @property
    def redirecting(self) -> Collection[str]:
        """Names of those to which a browser can be sent: they have a client secret."""
        ...

    def authorization_url(self, provider: str, asked: Authorization) -> str:
        """Address at the provider for a browser; the provider sends it back to ``redirect_uri`` with a code."""
        ...

    async def redeem(self, provider: str, code: ProviderCode) -> SocialIdentity | None:
        """The identity; None for a code that the provider refuses, and for an id token of another ``nonce``.

        Raises ServiceUnavailable as ``identify`` does.
        """
        ...


class LinkedProvider(Struct, frozen=True, rename="camel"):
    """A social identity of a user, as its owner sees it."""

    provider: str
    linked_at: datetime


class SocialIdentities(Protocol):
    async def of_user(self, user_id: UUID) -> list[LinkedProvider]:
        """The user's identities, the first linked first."""
        ...

    async def user_of(self, provider: str, subject: str) -> UUID | None:
        """The user that the identity is linked to."""
        ...

    async def link(self, provider: str, subject: str, user_id: UUID, at: datetime) -> bool:
        """Links the identity to the user; False when it is linked already."""
        ...

    async def unlink(self, user_id: UUID, provider: str) -> bool:
        """Removes the user's links to a provider; False when there are none."""
        ...

    async def unlink_all(self, user_id: UUID) -> None:
        """Removes every link of the user."""
        ...


Purpose = Literal["confirm", "reset"]


class OneTimeToken(Struct, frozen=True, kw_only=True):
    """The secret of a link, stored as its hash; ``number`` grows in the order of the requests for links.

    ``issued_at`` is when its mail was sent, the last time if it was sent again.
    """

    user_id: UUID
    email_key: str
    purpose: Purpose
    number: int
    hash: str
    issued_at: datetime
    expires_at: datetime


class OneTimeTokens(Protocol):
    """Tokens of a user; those of one purpose are issued LINKS_APART at least, and live beside each other."""

    async def issue(self, token: OneTimeToken) -> bool:
        """Stores the token, or renews it if it is stored already.

        False when it or a newer one of the purpose was used, and when another one went to the same address less than
        LINKS_APART ago: of concurrent calls one gets True.
        """
        ...

    async def living(self, purpose: Purpose, token_hash: str, now: datetime) -> OneTimeToken | None:
        """The token with this hash, None when it is used or expired."""
        ...

    async def consume(self, purpose: Purpose, token_hash: str, now: datetime) -> bool:
        """Marks the token used; of parallel calls for a valid token one gets True."""
        ...

    async def forget(self, user_id: UUID, purposes: Sequence[Purpose], at: datetime) -> None:
        """Marks the user's tokens of these purposes used."""
        ...


class Credentials(Protocol):
    """Changes of single columns of an account, whatever else of it changes at the same time."""

    async def set_password(self, user_id: UUID, password_hash: str, at: datetime) -> None:
        """Stores a password that the user chose; it need not be changed any more."""
        ...

    async def confirm_email(self, user_id: UUID, email_key: str, at: datetime) -> bool:
        """Marks the address confirmed and proved; False when the account has another address by now.

        ``email_proved_at`` is the time of the first proof.
        Social identities that were linked before the proof are unlinked: they may be somebody else's.
        """
        ...

    async def end_passkey_logins(self, user_id: UUID, before: datetime | None) -> int:
        """Lets passkeys that were registered before then, or all, be second factors at most; the number of them."""
        ...


class EmailChange(Struct, frozen=True, kw_only=True):
    """An address that somebody wants for their account, until its link is opened; ``hash`` is that of its secret.

    ``mailed_at`` are the times of the mails with such links within the last day. ``email`` is empty once it was ended.
    """

    user_id: UUID
    email: str
    email_key: str
    hash: str
    requested_at: datetime
    expires_at: datetime
    mailed_at: tuple[datetime, ...] = ()


class EmailChanges(Protocol):
    """Changes of addresses that wait for their proof; an account has one at most.

    ``Users.save`` ends it with a new address, and ``Users.remove`` with the account.
    """

    async def of_user(self, user_id: UUID) -> EmailChange | None: ...

    async def by_hash(self, hashed: str, now: datetime) -> EmailChange | None:
        """The change whose link has a secret with this hash; None when it has expired."""
        ...

    async def save(self, change: EmailChange) -> None:
        """Stores the change in place of the user's former one, whose link is dead from now on."""
        ...

    async def end(self, user_id: UUID) -> bool:
        """Ends the user's change and its link; of parallel calls one gets True.

        ``of_user`` goes on telling the times of its mails, without the address that was wanted.
        """
        ...


class AccountTransaction(IdentityTransaction, Protocol):
    """Parts of the database that use cases of account holders need."""

    @property
    def email_changes(self) -> EmailChanges: ...

    @property
    def one_time_tokens(self) -> OneTimeTokens: ...
    @property
    def credentials(self) -> Credentials: ...
    @property
    def social(self) -> SocialIdentities: ...
