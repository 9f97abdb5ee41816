"""The cookie that binds a login at a provider to the browser in which it began."""

from urllib.parse import urlsplit

from adapters.http.request.strict_request import StrictRequest
from application.identity.handover.social_redirect import LIVES

NAME = "tenantry-social"


class StateCookie:
    """``__Host-tenantry-social`` for ten minutes; without the prefix, and not ``Secure``, where the service is at http.

    ``SameSite=Lax``: the browser comes back from another site, by an address in its own bar.
    """

    def __init__(self, base_url: str) -> None:
        is_secure = urlsplit(base_url).scheme == "https"
        self.name = f"__Host-{NAME}" if is_secure else NAME
        self._marks = f"Path=/; HttpOnly; SameSite=Lax{'; Secure' if is_secure else ''}"

    def read(self, request: StrictRequest) -> str | None:
        return request.cookies.get(self.name)

    def kept(self, ticket: str) -> str:
        return f"{self.name}={ticket}; Max-Age={int(LIVES.total_seconds())}; {self._marks}"

    def without(self) -> str:
        return f"{self.name}=; Max-Age=0; {self._marks}"
