"""GitHub: access tokens of our OAuth application, and their user's primary address."""

from urllib.parse import quote

from msgspec import Struct

from adapters.social.provider_client import ProviderClient, Question
from application.ports.identity.accounts import SocialIdentity

HOST = "https://api.github.com"


class _App(Struct, frozen=True):
    client_id: str | None = None


class _Grant(Struct, frozen=True):
    app: _App = _App()


class _User(Struct, frozen=True):
    id: int
    login: str = ""
    name: str | None = None


class _Address(Struct, frozen=True):
    email: str
    primary: bool = False
    verified: bool = False


class GitHub:
    def __init__(self, client: ProviderClient, client_id: str, client_secret: str, base_url: str | None) -> None:
        self._provider = client
        self._credentials = (client_id, client_secret)
        self._base = base_url or HOST

    async def identify(self, token: str) -> SocialIdentity | None:
        if not await self._is_ours(token):
            return None
        user = await self._provider.ask(Question(url=f"{self._base}/user", bearer=token), _User)
        if user is None:
            return None
        # Request the largest page: a page has thirty addresses by default, and the primary address may be on a later
        # page.
        listed = Question(url=f"{self._base}/user/emails", parameters={"per_page": "100"}, bearer=token)
        addresses = await self._provider.ask(listed, list[_Address])
        # The address in the profile may be any text. Only this list says whether the primary address is verified.
        primary = next((address for address in addresses or () if address.primary), None)
        return SocialIdentity(
            provider="github",
            subject=str(user.id),
            email=primary.email if primary else None,
            email_verified=primary is not None and primary.verified,
            name=user.name or user.login,
        )

    async def _is_ours(self, token: str) -> bool:
        client_id, _ = self._credentials
        url = f"{self._base}/applications/{quote(client_id, safe='')}/token"
        question = Question(url=url, basic=self._credentials, body={"access_token": token})
        grant = await self._provider.ask(question, _Grant)
        return grant is not None and grant.app.client_id in (None, client_id)
