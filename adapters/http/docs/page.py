"""The documentation: a page that tries every endpoint out, without the internet, and the description it reads."""

import hashlib
import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

from adapters.http.request.responses import Bytes, NoBody
from adapters.http.request.rules import PUBLIC, UNLIMITED, rules
from adapters.http.request.strict_request import StrictRequest
from domain.errors import NotFound

ASSETS = Path(__file__).parent / "assets"
HTML = "text/html; charset=utf-8"
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
LICENCES = ("LICENSE", "NOTICE", "swagger-ui-bundle.js.LICENSE.txt")
OWN = ("docs.js", "docs.css", "account.css", "encrypted-passwords.js", "encrypted-passwords-page.js")
SERVED = ("swagger-ui-bundle.js", "swagger-ui.css", *OWN, *LICENCES)

POLICY = (
    "default-src 'none'; "
    "script-src 'self'; "
    "style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; "
    "font-src 'self' data:; "
    "connect-src 'self'; "
    "base-uri 'none'; "
    "form-action 'none'; "
    "frame-ancestors 'none'"
)
"""The page may ask nobody but the service itself."""


NOTHING_MORE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class About:
    """Title, contact and licence in the documentation; ``root`` is one step of a path."""

    root: str = "docs"
    title: str = "Tenantry"
    version: str = "v1"
    description: str = "Identity for many tenants, and a whole API for every entity."
    contact_name: str | None = None
    contact_url: str | None = None
    contact_email: str | None = None
    license_url: str | None = None


@dataclass(frozen=True)
class File:
    content: bytes
    kind: str
    tag: str
    headers: Mapping[str, str]

    def response(self, known: str | None) -> Bytes:
        """The file, or 304 where ``known`` (the header If-None-Match) has its entity tag."""
        headers = {"etag": self.tag, "cache-control": "public, max-age=0, must-revalidate", **self.headers}
        if self.tag in (tag.strip().removeprefix("W/") for tag in (known or "").split(",")):
            return NoBody(304, headers)
        return Bytes(self.content, self.kind, 200, headers)


def file_of(content: bytes, kind: str, headers: Mapping[str, str] = NOTHING_MORE) -> File:
    return File(content, kind, f'"{hashlib.sha256(content).hexdigest()[:32]}"', headers)


@lru_cache
def asset(name: str) -> File:
    """File of the documentation, read when it is first asked for; raises NotFound for names that are not served."""
    if name not in SERVED:
        raise NotFound
    path = ASSETS / name
    return file_of(path.read_bytes(), TYPES.get(path.suffix, "text/plain; charset=utf-8"))


def page_handler(path: str, name: str, page: File) -> HTTPRouteHandler:
    """Serves one page to anybody; pages stand beside the document and not in it."""

    async def shown(request: StrictRequest) -> Response[Any]:
        return page.response(request.header(b"if-none-match"))

    return get(path, name=name, include_in_schema=False, opt=rules(policy=PUBLIC, limit=UNLIMITED))(shown)


def asset_handler(path: str, name: str, find: Callable[[str], File]) -> HTTPRouteHandler:
    """Serves files by the name at the end of their path; ``find`` raises NotFound for names of nothing."""

    async def found(request: StrictRequest) -> Response[Any]:
        return find(request.path_params["name"]).response(request.header(b"if-none-match"))

    return get(path, name=name, include_in_schema=False, opt=rules(policy=PUBLIC, limit=UNLIMITED))(found)


def page_text(about: About) -> str:
    """Links are relative, so that the page works behind a prefix too."""
    title = html.escape(about.title)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}: API documentation</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="assets/swagger-ui.css">
<link rel="stylesheet" href="assets/docs.css">
</head>
<body>
<a class="skip" href="#api">Skip to the endpoints</a>
<header>
<p class="name">{title}</p>
<p>Log in with <code>POST /api/auth/login</code> below: the page keeps the token and sends it with
everything you try from then on. The <a href="v1/{html.escape(about.root)}.json">description</a> is OpenAPI 3.1.</p>
</header>
<div id="api" tabindex="-1" data-description="v1/{html.escape(about.root)}.json">
<noscript><p>This page needs JavaScript; the description above does not.</p></noscript>
</div>
<p id="told" role="status" aria-live="polite"></p>
<script src="assets/swagger-ui-bundle.js"></script>
<script src="assets/docs.js"></script>
</body>
</html>
"""


def docs_handlers(about: About) -> list[HTTPRouteHandler]:
    root = f"/{about.root}"
    page = file_of(page_text(about).encode(), HTML, {"content-security-policy": POLICY})

    @get(root, name="docs.front", include_in_schema=False, opt=rules(policy=PUBLIC, limit=UNLIMITED), status_code=302)
    async def front() -> Response[Any]:
        return NoBody(302, {"location": f"{root}/index.html"})

    return [
        front,
        page_handler(f"{root}/index.html", "docs.index", page),
        asset_handler(f"{root}/assets/{{name:str}}", "docs.asset", asset),
    ]
