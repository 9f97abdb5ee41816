"""Google: an access token that ``tokeninfo`` says was issued to us."""

from msgspec import Struct

from adapters.social.asking import ProviderClient, Question
from application.ports.identity.social import SocialIdentity

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
    """With a base of its own both questions go there; Google itself answers them on two hosts."""

    def __init__(self, asking: ProviderClient, client_id: str, base_url: str | None) -> None:
        self._asking = asking
        self._client_id = client_id
        self._tokens = f"{base_url or HOST}/tokeninfo"
        self._profile = f"{base_url}/userinfo" if base_url else PROFILE

    async def identify(self, token: str) -> SocialIdentity | None:
        told = await self._asking.ask(Question(url=self._tokens, parameters={"access_token": token}), _TokenInfo)
        if told is None or told.sub is None or not self._is_ours(told):
            return None
        profile = await self._asking.ask(Question(url=self._profile, bearer=token), _UserInfo)
        if profile is not None and profile.sub != told.sub:
            return None
        vouched = told if told.email or profile is None else profile
        return SocialIdentity(
            provider="google",
            subject=told.sub,
            email=vouched.email,
            email_verified=vouched.email_verified in (True, "true"),
            name=profile.name if profile else "",
        )

    def _is_ours(self, told: _TokenInfo) -> bool:
        """Whom it is for, and whom it was issued to: each of them us, where it is said at all."""
        said = {one for one in (told.aud, told.azp) if one is not None}
        return said == {self._client_id}
