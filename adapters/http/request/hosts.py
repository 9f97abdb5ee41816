"""Host names that requests may be sent to."""

import re
from collections.abc import Sequence

from domain.errors import BadRequest

# Litestar's AllowedHostsConfig is not used: it answers in words of its own, takes `api.example:8443` for another host
# than `api.example`, and judges no path that has no handler.
_PORT = re.compile(r":\d*\Z")


class AllowedHosts:
    """Judges the header ``Host``: ``api.example`` allows that name, ``*.example`` every name below it, at any port."""

    def __init__(self, names: Sequence[str]) -> None:
        patterns = [rf".+\.{re.escape(name[2:])}" if name.startswith("*.") else re.escape(name) for name in names]
        self._allowed = re.compile("|".join(patterns), re.IGNORECASE)

    def refusal(self, host: bytes | None) -> BadRequest | None:
        """The error for a host that is missing or not allowed; None for an allowed one."""
        name = _PORT.sub("", (host or b"").decode("latin-1"))
        if self._allowed.fullmatch(name) is not None:
            return None
        return BadRequest(f"The host {name!r} is not one of TENANTRY_ALLOWED_HOSTS.")
