"""Guard of the session routes: requests of the console itself, and of no other page."""

from typing import Any
from urllib.parse import urlsplit

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.types import Guard

from adapters.http.strict_reading import ensure_json
from domain.errors import Forbidden, UnsupportedMediaType


def same_origin(base_url: str) -> Guard:
    """Refuses, with 403, what a page of another origin could make a browser send along with its cookies.

    ``Sec-Fetch-Site`` must say ``same-origin``, or ``Origin`` be that of ``base_url``: browsers send the former to
    addresses that they trust alone, and no script can set either. ``X-Console: 1`` and JSON are what a form of another
    page cannot send, and a script of another page only after the browser asked this service, which never allows
    cookies with it.
    """
    own = origin_of(base_url)

    async def guard(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
        headers = connection.headers
        # an origin is compared as browsers write it; the word `null` is one of nobody
        is_own = headers.get("sec-fetch-site") == "same-origin" or headers.get("origin") == own
        if not is_own or headers.get("x-console") != "1" or not _is_json(connection):
            raise Forbidden("This is for the console alone: programs use /api/auth.")

    return guard


def _is_json(connection: ASGIConnection[Any, Any, Any, Any]) -> bool:
    """Whether the body is JSON; a DELETE without a body needs no type."""
    given = connection.headers.get("content-type")
    if given is None:
        return connection.scope.get("method") == "DELETE"
    try:
        ensure_json(given.encode("latin-1"))
    except UnsupportedMediaType:
        return False
    return True


def origin_of(base_url: str) -> str:
    """Scheme, host and port as browsers write them, without the port that the scheme has anyway."""
    parts = urlsplit(base_url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = f":{parts.port}" if parts.port and parts.port != {"http": 80, "https": 443}[parts.scheme] else ""
    return f"{parts.scheme}://{host}{port}"
