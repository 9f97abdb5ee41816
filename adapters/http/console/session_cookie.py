"""The cookie that keeps a refresh token from scripts."""

from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from adapters.http.console.pages import Console
from adapters.http.request.responses import JSON, NO_STORE, Bytes
from adapters.http.request.strict_request import StrictRequest
from domain.errors import Unauthorized

NAME = "tenantry"
REFRESH_TOKEN = "refreshToken"  # noqa: S105  # the name of a field


class SessionCookie:
    """``__Host-tenantry``, which no other host can set and no plain connection carries.

    Where the service is reached by http, browsers would refuse it: there it is ``tenantry`` and not ``Secure``.
    """

    def __init__(self, console: Console) -> None:
        is_secure = urlsplit(console.base_url).scheme == "https"
        self.name = f"__Host-{NAME}" if is_secure else NAME
        self._marks = f"Path=/; HttpOnly; SameSite=Strict{'; Secure' if is_secure else ''}"
        self._age = int(console.remembered.total_seconds())

    def read(self, request: StrictRequest) -> str:
        """The refresh token; raises Unauthorized without the cookie."""
        token = request.cookies.get(self.name)
        if not token:
            raise Unauthorized("No session is kept here: sign in.")
        return token

    def answer(self, result: Struct) -> Bytes:
        """Area A's envelope around ``result`` without its refresh token, which becomes the cookie."""
        data = msgspec.to_builtins(result)
        token = data.pop(REFRESH_TOKEN, None)
        headers = dict(NO_STORE)
        if token is not None:
            headers["set-cookie"] = self.kept(token)
        return Bytes(msgspec.json.encode({"isSuccess": True, "data": data}), JSON, 200, headers)

    def kept(self, token: str) -> str:
        """The header that has the browser keep a refresh token."""
        return f"{self.name}={token}; Max-Age={self._age}; {self._marks}"

    def without(self) -> Bytes:
        """An answer that takes the cookie away."""
        body = msgspec.json.encode({"isSuccess": True, "message": "The session has ended."})
        return Bytes(body, JSON, 200, {**NO_STORE, "set-cookie": f"{self.name}=; Max-Age=0; {self._marks}"})
