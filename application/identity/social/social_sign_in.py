"""Login with an account at a social provider."""

from dataclasses import dataclass
from uuid import UUID

from msgspec import Struct

from application.identity.login.forms import LoginResult
from application.identity.login.sign_in import SignIn
from application.identity.social.social_accounts import SocialAccounts
from application.ports.identity.accounts import SocialProviders
from domain.errors import InvalidCredentials, ValidationError
from domain.identity.logins import Login
from domain.scope import Client


class SocialForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    provider: str
    access_token: str
    preferred_tenant_id: UUID | None = None
    requested_app_id: str | None = None


@dataclass(frozen=True)
class SocialSignIn:
    providers: SocialProviders
    accounts: SocialAccounts
    sign_in: SignIn

    async def login(self, form: SocialForm, client: Client) -> LoginResult:
        provider = form.provider.strip().casefold()
        if provider not in self.providers.names:
            raise ValidationError.on("provider", "is not an enabled provider")
        identity = await self.providers.identify(provider, form.access_token)
        state = await self.accounts.account_state_of(identity, client) if identity else None
        if state is None:
            await self.sign_in.note_refusal(None, client)
            raise InvalidCredentials("No account here belongs to this login with the provider.")
        login = Login(
            state=state,
            methods=("social",),
            preferred=form.preferred_tenant_id,
            app_id=form.requested_app_id,
        )
        return await self.sign_in.complete_login(login, client)
