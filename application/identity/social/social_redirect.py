"""Login at a social provider by redirect, from the sign-in page's link to the provider's answer."""

import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta

from msgspec import Struct

from application.identity.hosted_login.first_use import is_first_use
from application.identity.hosted_login.targets import Target, Targets
from application.identity.login.forms import LoginResult
from application.identity.login.sign_in import SignIn
from application.identity.social.social_accounts import SocialAccounts
from application.ports.database import Database
from application.ports.identity.accounts import Authorization, ProviderCode, SocialProviders
from application.ports.identity.passwords import NonceTransaction
from application.ports.identity.sessions import Tickets
from application.ports.runtime import Clock
from domain.errors import InvalidCredentials, ValidationError
from domain.identity.logins import Login
from domain.identity.redirects import challenge_of
from domain.scope import Client

LIVES = timedelta(minutes=10)
"""Time limit for the login at a provider."""


class BegunLogin(Struct, frozen=True, kw_only=True):
    """Content of a browser's ticket during the login; ``target`` is None for a login without an application."""

    provider: str
    state: str
    nonce: str
    verifier: str
    target: Target | None


class Departure(Struct, frozen=True):
    """Start of a login by redirect: an ``address`` at the provider, and a ``ticket`` for the browser's cookie."""

    address: str
    ticket: str


@dataclass(frozen=True)
class SocialRedirect:
    """Logins at social providers by redirect, from the sign-in page to the browser's return.

    ``base_url`` is the service's public address, as registered at the providers.
    """

    database: Database[NonceTransaction]
    providers: SocialProviders
    accounts: SocialAccounts
    sign_in: SignIn
    tickets: Tickets
    targets: Targets
    clock: Clock
    base_url: str

    async def begin(self, provider: str, target: Target | None) -> Departure:
        """Begin a login at a provider. Raises ValidationError on ``provider``, and for a target as ``Targets`` does."""
        if provider not in self.providers.redirecting:
            raise ValidationError.on("provider", "is none that logins can begin at here")
        if target is not None:
            await self.targets.ensure(target)
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        begun = BegunLogin(provider=provider, state=state, nonce=nonce, verifier=verifier, target=target)
        asked = Authorization(
            redirect_uri=self._address(provider), state=state, nonce=nonce, challenge=challenge_of(verifier)
        )
        ticket = self.tickets.seal("social", begun, self.clock.now() + LIVES)
        return Departure(self.providers.authorization_url(provider, asked), ticket)

    async def returned(self, provider: str, ticket: str | None, state: str) -> BegunLogin:
        """Return the login that the browser began before the redirect to the provider.

        Raises ValidationError on ``state``, with the same message for every fault, and the errors of ``Targets`` if the
        target is not registered any more.
        """
        opened = self.tickets.open("social", ticket or "", BegunLogin, self.clock.now())
        # Security: the cookie names browser and provider. Refuse another browser, another provider's answer (mix-up)
        # and a second use alike, before asking a provider.
        if (
            opened is None
            or not _is_answer(opened.content, provider, state)
            or not await is_first_use(self.database, opened, self.clock.now())
        ):
            raise ValidationError.on("state", "is not of a login that began in this browser in the last minutes")
        if opened.content.target is not None:
            await self.targets.ensure(opened.content.target)
        return opened.content

    async def login(self, begun: BegunLogin, code: str, client: Client) -> LoginResult:
        """Complete the login, through the gate of every login. Raises the errors of a social login."""
        brought = ProviderCode(
            code=code, redirect_uri=self._address(begun.provider), nonce=begun.nonce, verifier=begun.verifier
        )
        identity = await self.providers.redeem(begun.provider, brought) if code else None
        state = await self.accounts.account_state_of(identity, client) if identity else None
        if state is None:
            await self.sign_in.note_refusal(None, client)
            raise InvalidCredentials("No account here belongs to this login with the provider.")
        app_id = begun.target.app_id if begun.target else None
        return await self.sign_in.complete_login(Login(state=state, methods=("social",), app_id=app_id), client)

    def _address(self, provider: str) -> str:
        # Security: use one callback address per provider, so that the service cannot confuse responses of two
        # providers.
        return f"{self.base_url}/api/auth/social/{provider}/callback"


def _is_answer(begun: BegunLogin, provider: str, state: str) -> bool:
    return begun.provider == provider and hmac.compare_digest(begun.state.encode(), state.encode())
