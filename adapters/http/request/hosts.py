"""Allowed host names of requests."""

import re
from collections.abc import Sequence

from domain.errors import BadRequest

# Litestar's AllowedHostsConfig has another answer format, distinguishes `api.example:8443` from `api.example`, and
# ignores paths without a handler.
_PORT = re.compile(r":\d*\Z")


def name_of(host: bytes | None) -> str:
    """Return the name in the header ``Host``, without the port."""
    return _PORT.sub("", (host or b"").decode("latin-1"))


class AllowedHosts:
    """Checks the header ``Host``: ``api.example`` allows that name, ``*.example`` every name below it, at any port."""

    def __init__(self, names: Sequence[str]) -> None:
        patterns = [rf".+\.{re.escape(name[2:])}" if name.startswith("*.") else re.escape(name) for name in names]
        self._allowed = re.compile("|".join(patterns), re.IGNORECASE)

    def refusal(self, host: bytes | None) -> BadRequest | None:
        """Return the error for a missing or forbidden host; None for an allowed host."""
        name = name_of(host)
        if self._allowed.fullmatch(name) is not None:
            return None
        return BadRequest(f"The host {name!r} is not one of TENANTRY_ALLOWED_HOSTS.")
