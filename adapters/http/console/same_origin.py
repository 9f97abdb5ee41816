"""Guard of the session routes: it accepts only requests from the console itself."""

from typing import Any
from urllib.parse import urlsplit

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.types import Guard

from adapters.http.strict_reading import ensure_json
from domain.errors import Forbidden, UnsupportedMediaType


def same_origin(base_url: str) -> Guard:
    """Return a guard that refuses, with 403, cross-site requests with cookies.

    ``Sec-Fetch-Site`` must be ``same-origin``, or ``Origin`` must be that of ``base_url``. Browsers send
    ``Sec-Fetch-Site`` only to trusted addresses, and no script can set either header. A form of another site cannot
    send ``X-Console: 1`` or JSON. A script of another site can send them only after a preflight, and the service never
    allows cookies there.
    """
    own = origin_of(base_url)

    async def guard(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
        headers = connection.headers
        # Compare origins in the browser's spelling. `null` is not an origin.
        is_own = headers.get("sec-fetch-site") == "same-origin" or headers.get("origin") == own
        if not is_own or headers.get("x-console") != "1" or not _is_json(connection):
            raise Forbidden("Only the console may use this address: programs use /api/auth.")

    return guard


def _is_json(connection: ASGIConnection[Any, Any, Any, Any]) -> bool:
    """Return whether the body is JSON; a DELETE without a content type counts as JSON."""
    given = connection.headers.get("content-type")
    if given is None:
        return connection.scope.get("method") == "DELETE"
    try:
        ensure_json(given.encode("latin-1"))
    except UnsupportedMediaType:
        return False
    return True


def origin_of(base_url: str) -> str:
    """Return scheme, host and port as browsers write them, without the scheme's default port."""
    parts = urlsplit(base_url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = f":{parts.port}" if parts.port and parts.port != {"http": 80, "https": 443}[parts.scheme] else ""
    return f"{parts.scheme}://{host}{port}"
