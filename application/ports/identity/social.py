"""Social providers, and the links from their accounts to users."""

from collections.abc import Collection
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct


class SocialIdentity(Struct, frozen=True, kw_only=True):
    """Identity behind a provider's token; ``subject`` is the provider's permanent id of the user.

    ``email_verified``: the provider vouches that the address belongs to the user.
    """

    provider: str
    subject: str
    email: str | None
    email_verified: bool
    name: str


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


class SocialIdentities(Protocol):
    async def user_of(self, provider: str, subject: str) -> UUID | None:
        """The user that the identity is linked to."""
        ...

    async def link(self, provider: str, subject: str, user_id: UUID, at: datetime) -> bool:
        """Links the identity to the user; False when it is linked already."""
        ...

    async def unlink_all(self, user_id: UUID) -> None:
        """Removes every link of the user."""
        ...
