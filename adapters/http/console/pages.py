"""`/console`: the built browser application, and `/`, which redirects to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

from adapters.http.request.responses import NoBody
from adapters.http.request.rules import unlisted
from adapters.http.request.strict_request import StrictRequest
from adapters.http.static_files import File, compressed, file_handler, variant
from domain.errors import NotFound

ROOT = "/console"
PAGE = "index.html"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}


@dataclass(frozen=True, kw_only=True)
class Console:
    """The built console, and the address of the service.

    ``files`` are by name, and empty if the console is off. ``base_url`` is the service's public address; browsers store
    the session cookie for ``remembered``.
    """

    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    base_url: str = "http://127.0.0.1:8000"
    remembered: timedelta = timedelta(days=7)

    @property
    def is_on(self) -> bool:
        return PAGE in self.files

    @property
    def prefix(self) -> str:
        """Path of the public address, removed by a proxy before this service: ``/tenantry``, usually empty."""
        return urlsplit(self.base_url).path.rstrip("/")


def page_handlers(console: Console) -> list[HTTPRouteHandler]:
    """Return handlers of the console's page and files.

    For a path without a file, a browser gets the console's page with an explanation; other clients get 404.
    """
    found = dict(compressed({**console.files, PAGE: _behind(console)}, HEADERS))

    def file(request: StrictRequest) -> File:
        variants = found.get(str(request.path_params["name"]).strip("/"))
        if variants is None and not is_browser(request):
            raise NotFound
        return variant(request, variants or found[PAGE])

    return [
        file_handler(ROOT, "console.page", lambda request: variant(request, found[PAGE])),
        file_handler(f"{ROOT}/{{name:path}}", "console.file", file),
    ]


def front_handler(leads_to: str) -> HTTPRouteHandler:
    """Return the handler of `/`: it redirects browsers to ``leads_to`` and answers 404 to programs."""

    @get("/", **unlisted("front"), status_code=302)
    async def front(request: StrictRequest) -> Response[Any]:
        if not is_browser(request):
            raise NotFound
        return NoBody(302, {"location": leads_to, "vary": "Accept", "cache-control": "no-cache"})

    return front


def is_browser(request: StrictRequest) -> bool:
    """Return True for a browser's address bar, which names HTML in ``Accept``; programs and scripts accept anything."""
    return "text/html" in (request.header(b"accept") or "").lower()


def _behind(console: Console) -> bytes:
    """The page with the public addresses of its scripts and styles."""
    return console.files[PAGE].replace(f'"{ROOT}/'.encode(), f'"{console.prefix}{ROOT}/'.encode())
