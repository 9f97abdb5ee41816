"""Google: access tokens confirmed for our application by ``tokeninfo``."""

from msgspec import Struct

from adapters.social.provider_client import ProviderClient, Question
from application.ports.identity.accounts import SocialIdentity

HOST = "https://oauth2.googleapis.com"
PROFILE = "https://openidconnect.googleapis.com/v1/userinfo"


class _TokenInfo(Struct, frozen=True):
    sub: str | None = None
    aud: str | None = None
    azp: str | None = None
    email: str | None = None
    email_verified: bool | str = False


class _UserInfo(Struct, frozen=True):
    sub: str
    name: str = ""
    email: str | None = None
    email_verified: bool | str = False


class Google:
    """Identifies users by ``tokeninfo`` and ``userinfo``, on Google's two hosts or both below ``base_url``."""

    def __init__(self, client: ProviderClient, client_id: str, base_url: str | None) -> None:
        self._provider = client
        self._client_id = client_id
        self._tokens = f"{base_url or HOST}/tokeninfo"
        self._profile = f"{base_url}/userinfo" if base_url else PROFILE

    async def identify(self, token: str) -> SocialIdentity | None:
        info = await self._provider.ask(Question(url=self._tokens, parameters={"access_token": token}), _TokenInfo)
        if info is None or info.sub is None or not self._is_ours(info):
            return None
        profile = await self._provider.ask(Question(url=self._profile, bearer=token), _UserInfo)
        if profile is not None and profile.sub != info.sub:
            return None
        # Security: address and verification must come from the same answer.
        source = info if info.email or profile is None else profile
        return SocialIdentity(
            provider="google",
            subject=info.sub,
            email=source.email,
            email_verified=source.email_verified in (True, "true"),  # tokeninfo answers with texts
            name=profile.name if profile else "",
        )

    def _is_ours(self, info: _TokenInfo) -> bool:
        """Return whether the given audience and authorised party are our client; one is required."""
        named = {client for client in (info.aud, info.azp) if client is not None}
        return named == {self._client_id}
