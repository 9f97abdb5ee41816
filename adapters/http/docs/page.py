"""The documentation: a page that tries every endpoint out, without the internet, and the description it reads."""

import hashlib
import html
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from adapters.http.request.endpoint import PUBLIC, UNLIMITED, Answer, Call, Endpoint, Shown
from adapters.http.request.responses import Bytes, NoBody
from domain.errors import NotFound

ASSETS = Path(__file__).parent / "assets"
TYPES = {".js": b"text/javascript; charset=utf-8", ".css": b"text/css; charset=utf-8"}
LICENCES = ("LICENSE", "NOTICE", "swagger-ui-bundle.js.LICENSE.txt")
OWN = ("docs.js", "docs.css", "account.css", "encrypted-passwords.js", "encrypted-passwords-page.js")
SERVED = ("swagger-ui-bundle.js", "swagger-ui.css", *OWN, *LICENCES)

POLICY = b"; ".join(
    (
        b"default-src 'none'",
        b"script-src 'self'",
        b"style-src 'self' 'unsafe-inline'",
        b"img-src 'self' data:",
        b"font-src 'self' data:",
        b"connect-src 'self'",
        b"base-uri 'none'",
        b"form-action 'none'",
        b"frame-ancestors 'none'",
    )
)
"""The page may ask nobody but the service itself."""


@dataclass(frozen=True, kw_only=True)
class About:
    """What the documentation says of the service; ``root`` is one step of a path."""

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
    kind: bytes
    tag: bytes
    more: tuple[tuple[bytes, bytes], ...] = ()

    def response(self, known: str | None) -> Bytes:
        """The file, or 304 where ``known`` (the header If-None-Match) has its entity tag."""
        headers = {"etag": self.tag.decode(), "cache-control": "public, max-age=0, must-revalidate"}
        headers |= {name.decode(): value.decode() for name, value in self.more}
        if self.tag.decode() in (tag.strip().removeprefix("W/") for tag in (known or "").split(",")):
            return NoBody(304, headers)
        return Bytes(self.content, self.kind.decode(), 200, headers)

    def answer(self, call: Call) -> Answer:
        headers = ((b"etag", self.tag), (b"cache-control", b"public, max-age=0, must-revalidate"), *self.more)
        known = call.headers.get(b"if-none-match", b"")
        if self.tag in (one.strip().removeprefix(b"W/") for one in known.split(b",")):
            return Answer(304, headers=headers)
        return Answer(200, self.content, ((b"content-type", self.kind), *headers))


def file_of(content: bytes, kind: bytes, more: tuple[tuple[bytes, bytes], ...] = ()) -> File:
    return File(content, kind, b'"' + hashlib.sha256(content).hexdigest()[:32].encode() + b'"', more)


@lru_cache
def asset(name: str) -> File:
    """Raises NotFound for all but the names we serve; read once, when it is first asked for."""
    if name not in SERVED:
        raise NotFound
    path = ASSETS / name
    return file_of(path.read_bytes(), TYPES.get(path.suffix, b"text/plain; charset=utf-8"))


@dataclass(frozen=True)
class Docs:
    page: File
    root: str

    async def index(self, call: Call) -> Answer:
        return self.page.answer(call)

    async def asset(self, call: Call) -> Answer:
        return asset(call.path_params["name"]).answer(call)

    async def front(self, _: Call) -> Answer:
        return Answer(302, headers=((b"location", f"/{self.root}/index.html".encode()),))


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


def docs_endpoints(about: About) -> list[Endpoint]:
    page = file_of(page_text(about).encode(), b"text/html; charset=utf-8", ((b"content-security-policy", POLICY),))
    docs = Docs(page, about.root)
    root = f"/{about.root}"
    served = (
        (root, "docs.front", docs.front, "To the page"),
        (f"{root}/index.html", "docs.index", docs.index, "The page"),
        (f"{root}/assets/{{name}}", "docs.asset", docs.asset, "What the page is made of"),
    )
    return [
        Endpoint(
            method="GET",
            path=path,
            run=run,
            policy=PUBLIC,
            limit=UNLIMITED,
            area="B",
            operation=operation,
            tag="docs",
            summary=summary,
            shown=(Shown(200, "other"),),
        )
        for path, operation, run, summary in served
    ]
