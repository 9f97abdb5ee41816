"""What proves that an account is somebody's: its password, and the links that mails carry to its address."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.identity.social import SocialIdentities
from application.ports.identity.users import IdentityTransaction

Purpose = Literal["confirm", "reset"]


class OneTimeToken(Struct, frozen=True, kw_only=True):
    """A link's secret as it is kept: its hash. ``number`` grows with the order in which links were asked for."""

    user_id: UUID
    email_key: str
    purpose: Purpose
    number: int
    hash: str
    expires_at: datetime


class OneTimeTokens(Protocol):
    """One for each user and purpose: a newer one takes the place of what was there."""

    async def issue(self, token: OneTimeToken) -> bool:
        """Stores it, or renews it when it was stored before; False when it was used, or a newer one is there."""
        ...

    async def living(self, purpose: Purpose, token_hash: str, now: datetime) -> OneTimeToken | None:
        """The one of this hash, if it is neither used nor expired."""
        ...

    async def spend(self, purpose: Purpose, token_hash: str, now: datetime) -> bool:
        """Atomic: of many who show a living one at once, one is told True."""
        ...

    async def forget(self, user_id: UUID, purposes: Sequence[Purpose], at: datetime) -> None:
        """Those of the user are as if used."""
        ...


class Credentials(Protocol):
    """Each touches what it names and nothing else, whatever changes the account meanwhile."""

    async def set_password(self, user_id: UUID, password_hash: str, at: datetime) -> None:
        """Chosen by the user: it need not be changed any more."""
        ...

    async def confirm_email(self, user_id: UUID, email_key: str, at: datetime) -> bool:
        """False when the address is not the account's any more."""
        ...


class AccountTransaction(IdentityTransaction, Protocol):
    """The rooms of the database that account holders themselves work in."""

    @property
    def one_time_tokens(self) -> OneTimeTokens: ...
    @property
    def credentials(self) -> Credentials: ...
    @property
    def social(self) -> SocialIdentities: ...
