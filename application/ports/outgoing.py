"""Requests to addresses that users of the service choose."""

from collections.abc import Mapping
from typing import Literal, Protocol

from msgspec import Struct

Failure = Literal["refused", "unresolved", "unreachable", "timeout", "protocol"]
"""Why no response arrived. ``refused``: the service may not connect to the address."""

FAILURES: Mapping[Failure, str] = {
    "refused": "The address is not allowed: it is private or reserved, or the URL is not allowed there.",
    "unresolved": "The host name has no address.",
    "unreachable": "The connection failed, or its certificate is not valid for the host.",
    "timeout": "No response arrived in time.",
    "protocol": "The response is not HTTP.",
}
"""Sentences for users: they name no address, because a name may resolve to an internal one."""


class NotAnswered(Exception):
    """No response arrived, for one of the reasons ``Failure``."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(FAILURES[failure])
        self.failure = failure


class Reply(Struct, frozen=True):
    """Response without its body; ``retry_after`` is the text of the header, None without it."""

    status: int
    retry_after: str | None


class OutgoingRequests(Protocol):
    async def ensure_allowed(self, url: str) -> None:
        """Raise NotAnswered, ``refused`` or ``unresolved``, if the service may not send requests to the URL now."""
        ...

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Send exactly these bytes, follow no redirect, and ignore the body of the response.

        Raises NotAnswered. The service checks the addresses of the host again before it connects.
        """
        ...
