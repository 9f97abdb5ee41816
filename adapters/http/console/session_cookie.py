"""Cookie with the refresh token, hidden from scripts."""

import msgspec
from msgspec import Struct

from adapters.http.console.pages import Console
from adapters.http.request.host_cookie import HostCookie
from adapters.http.request.responses import NO_STORE, Json, identity_data
from adapters.http.request.strict_request import StrictRequest
from domain.errors import Unauthorized

REFRESH_TOKEN = "refreshToken"  # noqa: S105  # the name of a field


class SessionCookie(HostCookie):
    def __init__(self, console: Console) -> None:
        super().__init__("tenantry", console.base_url, "Strict", console.remembered)

    def token(self, request: StrictRequest) -> str:
        """Return the refresh token; raise Unauthorized without the cookie."""
        token = self.read(request)
        if not token:
            raise Unauthorized("There is not a session in this browser: sign in.")
        return token

    def answer(self, result: Struct) -> Json:
        """Return area A's envelope around ``result``; move its refresh token into the cookie."""
        data = msgspec.to_builtins(result)
        token = data.pop(REFRESH_TOKEN, None)
        return identity_data(data, headers={} if token is None else {"set-cookie": self.kept(token)})

    def ended(self) -> Json:
        """Return an answer that removes the cookie."""
        body = msgspec.json.encode({"isSuccess": True, "message": "The session has ended."})
        return Json(body, 200, {**NO_STORE, "set-cookie": self.without()})
