"""Facebook: access tokens confirmed for our application by ``debug_token``. Addresses count as unverified."""

import hashlib
import hmac

from msgspec import Struct

from adapters.social.provider_client import ProviderClient, Question
from application.ports.identity.accounts import SocialIdentity

HOST = "https://graph.facebook.com"


class _Debugged(Struct, frozen=True):
    app_id: str | int | None = None
    user_id: str | int | None = None
    is_valid: bool = False


class _Answer(Struct, frozen=True):
    data: _Debugged


class _Me(Struct, frozen=True):
    id: str
    name: str = ""
    email: str | None = None


class Facebook:
    def __init__(self, client: ProviderClient, client_id: str, client_secret: str, base_url: str | None) -> None:
        self._provider = client
        self._client_id = client_id
        self._secret = client_secret
        self._base = base_url or HOST

    async def identify(self, token: str) -> SocialIdentity | None:
        debugged = await self._debugged(token)
        # Security: accept only tokens of our application. The owner of another application could log in with the tokens
        # of its users.
        if debugged is None or not debugged.is_valid or str(debugged.app_id) != self._client_id:
            return None
        me = await self._me(token)
        if me is None or me.id != str(debugged.user_id):
            return None
        return SocialIdentity(provider="facebook", subject=me.id, email=me.email, email_verified=False, name=me.name)

    async def _debugged(self, token: str) -> _Debugged | None:
        parameters = {"input_token": token, "access_token": f"{self._client_id}|{self._secret}"}
        answer = await self._provider.ask(Question(url=f"{self._base}/debug_token", parameters=parameters), _Answer)
        return answer.data if answer else None

    async def _me(self, token: str) -> _Me | None:
        # Security: with this proof, a stolen token is useless without the application's secret.
        proof = hmac.new(self._secret.encode(), token.encode(), hashlib.sha256).hexdigest()
        parameters = {"fields": "id,name,email", "access_token": token, "appsecret_proof": proof}
        return await self._provider.ask(Question(url=f"{self._base}/me", parameters=parameters), _Me)
