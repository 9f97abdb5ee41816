"""Login with an account at a social provider."""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.identity.accounts import SocialIdentity, SocialProviders
from application.ports.identity.users import VerifiedIdentity
from domain.errors import InvalidCredentials, ValidationError
from domain.identity.users import AccountState, User
from domain.scope import Client


class SocialForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    provider: str
    access_token: str
    preferred_tenant_id: UUID | None = None
    requested_app_id: str | None = None


class LoginCompletion(Protocol):
    """Second half of a login, once the identity is verified; implemented by SignIn."""

    async def complete_login(
        self, verified: VerifiedIdentity, preferred: UUID | None, app_id: str | None, client: Client
    ) -> Struct:
        """Starts the session and returns the response of a login."""
        ...

    async def note_refusal(self, user: User | None, client: Client) -> None:
        """Records a failed login in the audit trail; ``user`` is None when the account is unknown."""
        ...


class LinkedAccounts(Protocol):
    """Accounts of social identities; implemented by SocialAccounts."""

    async def account_state_of(self, identity: SocialIdentity, client: Client) -> AccountState | None:
        """The account of the identity, created or claimed if need be.

        None when the address belongs to another account or the provider gives no address.
        """
        ...


@dataclass(frozen=True)
class SocialSignIn:
    providers: SocialProviders
    accounts: LinkedAccounts
    entrance: LoginCompletion

    async def login(self, form: SocialForm, client: Client) -> Struct:
        provider = form.provider.strip().casefold()
        if provider not in self.providers.names:
            raise ValidationError.on("provider", "is not an enabled provider")
        identity = await self.providers.identify(provider, form.access_token)
        state = await self.accounts.account_state_of(identity, client) if identity else None
        if state is None:
            await self.entrance.note_refusal(None, client)
            raise InvalidCredentials("No account here belongs to this login with the provider.")
        verified = VerifiedIdentity(state, by_password=False, methods=("social",))
        return await self.entrance.complete_login(verified, form.preferred_tenant_id, form.requested_app_id, client)
