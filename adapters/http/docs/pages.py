"""Documentation pages, which need no internet, and files that are served with an ETag.

Markup stands in ``assets``. Links are relative, so that the pages work behind a prefix too.
"""

import hashlib
import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Any

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

from adapters.http.request.quality_values import chosen_coding
from adapters.http.request.responses import Bytes, NoBody
from adapters.http.request.rules import unlisted
from adapters.http.request.strict_request import StrictRequest
from domain.errors import NotFound

ASSETS = Path(__file__).parent / "assets"
HTML = "text/html; charset=utf-8"
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
LICENCES = ("LICENSE", "NOTICE", "swagger-ui-bundle.js.LICENSE.txt")
OWN = ("docs.js", "docs-theme.js", "docs.css", "account.css", "encrypted-passwords.js", "encrypted-passwords-page.js")
DOCS_FILES = frozenset({"swagger-ui-bundle.js", "swagger-ui.css", *OWN, *LICENCES})
COMPRESSED = frozenset({"swagger-ui-bundle.js", "swagger-ui.css"})
"""Large files, which stand compressed beside themselves."""
SIGN_IN = (
    "account-api.js",
    "account-words.js",
    "account-ways.js",
    "account-login.js",
    "account-register.js",
    "account-security.js",
)
ACCOUNT_FILES = frozenset({"account.js", "account-invitation.js", "account.css", *SIGN_IN})

_NOBODY_ELSE = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
# the documentation may ask nobody but the service itself
DOCS_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    f"font-src 'self' data:; connect-src 'self'; {_NOBODY_ELSE}"
)
# account pages hold a secret in their address: nothing inline, and in no other page's frame
ACCOUNT_POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; {_NOBODY_ELSE}"
)


def account_policy(picture: str) -> str:
    """The policy of an account page that shows one picture of another host; ``picture`` is its address."""
    return ACCOUNT_POLICY.replace("img-src data:", f"img-src data: {picture}")


NOTHING_MORE: Mapping[str, str] = MappingProxyType({})
VARIES = {"vary": "Accept-Encoding"}


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

    def response(self, request: StrictRequest) -> Bytes:
        """The file, or 304 where the client has it."""
        headers = {"etag": self.tag, "cache-control": "public, max-age=0, must-revalidate", **self.headers}
        return NoBody(304, headers) if request.knows(self.tag) else Bytes(self.content, self.kind, 200, headers)


def file_of(content: bytes, kind: str, headers: Mapping[str, str] = NOTHING_MORE) -> File:
    return File(content, kind, f'"{hashlib.sha256(content).hexdigest()[:32]}"', headers)


@lru_cache
def asset(name: str, coding: str | None = None) -> File:
    """The file, or what was made of it by ``gzip -9n`` and stands beside it."""
    path, kind = ASSETS / name, TYPES.get(Path(name).suffix, "text/plain; charset=utf-8")
    if coding is None:
        return file_of(path.read_bytes(), kind, VARIES)
    return file_of(path.with_name(f"{name}.gz").read_bytes(), kind, {**VARIES, "content-encoding": coding})


def docs_handlers(about: About) -> list[HTTPRouteHandler]:
    """The page that tries every endpoint out, and one that shows how a browser encrypts a password, by doing it."""
    root, policy = f"/{about.root}", {"content-security-policy": DOCS_POLICY}
    code = (ASSETS / "encrypted-passwords.js").read_text()  # the very script that the page runs
    index = _page("docs.html", policy, service=about.title, root=about.root)
    encrypting = _page("encrypted-passwords.html", policy, service=about.title, code=code)

    @get(root, **unlisted("docs.front"), status_code=302)
    async def front() -> Response[Any]:
        return NoBody(302, {"location": f"{root}/index.html"})

    return [
        front,
        file_handler(f"{root}/index.html", "docs.index", lambda _: index),
        file_handler(f"{root}/encrypted-passwords.html", "docs.encrypted-passwords", lambda _: encrypting),
        file_handler(f"{root}/assets/{{name:str}}", "docs.asset", _asset),
    ]


def _page(name: str, headers: Mapping[str, str], **values: str) -> File:
    """A page of ``assets`` with its ``$names`` filled in, as text and not as markup."""
    text = {name: html.escape(value) for name, value in values.items()}
    return file_of(Template((ASSETS / name).read_text()).substitute(text).encode(), HTML, headers)


def file_handler(path: str, name: str, chosen: Callable[[StrictRequest], File]) -> HTTPRouteHandler:
    """Serves files to anybody, beside the document: ``chosen`` tells which, or raises NotFound."""

    async def serve(request: StrictRequest) -> Response[Any]:
        return chosen(request).response(request)

    return get(path, **unlisted(name))(serve)


def _asset(request: StrictRequest) -> File:
    """A file of the documentation, read when it is first asked for."""
    if (name := request.path_params["name"]) not in DOCS_FILES:
        raise NotFound
    return asset(name, chosen_coding(request.header(b"accept-encoding"), ["gzip"]) if name in COMPRESSED else None)
