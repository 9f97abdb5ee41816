"""Cookies that only this host can set and no script can read."""

from datetime import timedelta
from typing import Literal
from urllib.parse import urlsplit

from adapters.http.request.strict_request import StrictRequest


class HostCookie:
    """A cookie named ``__Host-NAME``: no other host can set it and no unencrypted connection carries it.

    Over http browsers would refuse that name, so the cookie is ``NAME`` and not ``Secure``.
    """

    def __init__(self, name: str, base_url: str, same_site: Literal["Lax", "Strict"], lives: timedelta) -> None:
        is_secure = urlsplit(base_url).scheme == "https"
        self.name = f"__Host-{name}" if is_secure else name
        self._marks = f"Path=/; HttpOnly; SameSite={same_site}{'; Secure' if is_secure else ''}"
        self._age = int(lives.total_seconds())

    def read(self, request: StrictRequest) -> str | None:
        return request.cookies.get(self.name)

    def kept(self, value: str) -> str:
        """Return the ``Set-Cookie`` header that stores the value in the browser."""
        return f"{self.name}={value}; Max-Age={self._age}; {self._marks}"

    def without(self) -> str:
        """Return the ``Set-Cookie`` header that removes the cookie."""
        return f"{self.name}=; Max-Age=0; {self._marks}"
