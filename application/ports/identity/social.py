"""Social providers, and where it is kept which of their accounts belongs to which of our users."""

from collections.abc import Collection
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct


class SocialIdentity(Struct, frozen=True, kw_only=True):
    """Who holds a token that was issued to us; ``subject`` is the provider's lasting name for them.

    ``email_verified``: the provider has made sure that the address is theirs.
    """

    provider: str
    subject: str
    email: str | None
    email_verified: bool
    name: str


class SocialProviders(Protocol):
    @property
    def names(self) -> Collection[str]:
        """The providers that are turned on."""
        ...

    async def identify(self, provider: str, access_token: str) -> SocialIdentity | None:
        """None for a token that the provider refuses, or that was issued to another application.

        Raises ServiceUnavailable when the provider is away, or answers anything but what was asked, within 3 s.
        """
        ...


class SocialIdentities(Protocol):
    async def user_of(self, provider: str, subject: str) -> UUID | None: ...

    async def link(self, provider: str, subject: str, user_id: UUID, at: datetime) -> bool:
        """False when that identity belongs to somebody already, this user included."""
        ...

    async def unlink_all(self, user_id: UUID) -> None:
        """Takes every identity of the user's."""
        ...
