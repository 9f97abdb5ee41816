"""Documentation pages that work without internet access.

The markup is in ``adapters/http/assets``. Relative links make the pages work behind a prefix.
"""

import html
from collections.abc import Mapping
from dataclasses import dataclass
from string import Template
from typing import Any

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

from adapters.http.request.quality_values import chosen_coding
from adapters.http.request.responses import NoBody
from adapters.http.request.rules import unlisted
from adapters.http.request.strict_request import StrictRequest
from adapters.http.static_files import ALONE, ASSETS, HTML, File, asset, file_handler, file_of
from domain.errors import NotFound

LICENCES = ("LICENSE", "NOTICE", "swagger-ui-bundle.js.LICENSE.txt")
OWN = ("docs.js", "docs-theme.js", "docs.css", "page.css", "encrypted-passwords.js", "encrypted-passwords-page.js")
DOCS_FILES = frozenset({"swagger-ui-bundle.js", "swagger-ui.css", *OWN, *LICENCES})
COMPRESSED = frozenset({"swagger-ui-bundle.js", "swagger-ui.css"})
"""Large files, also stored compressed."""
# documentation pages may connect to this service only
DOCS_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    f"font-src 'self' data:; connect-src 'self'; {ALONE}"
)


@dataclass(frozen=True, kw_only=True)
class About:
    """Title, contact and licence in the documentation; ``root`` is a path of one segment."""

    root: str = "docs"
    title: str = "Tenantry"
    version: str = "v1"
    description: str = "Identity for many tenants, and a whole API for every entity."
    contact_name: str | None = None
    contact_url: str | None = None
    contact_email: str | None = None
    license_url: str | None = None


def docs_handlers(about: About, below: str = "") -> list[HTTPRouteHandler]:
    """Return handlers of the page to try every endpoint, and of a demonstration of password encryption in browsers.

    ``below`` is the path of the public address.
    """
    root, policy = f"/{about.root}", {"content-security-policy": DOCS_POLICY}
    code = (ASSETS / "encrypted-passwords.js").read_text()  # the page runs this script
    index = _page("docs.html", policy, service=about.title, root=about.root)
    encrypting = _page("encrypted-passwords.html", policy, service=about.title, code=code)

    @get(root, **unlisted("docs.front"), status_code=302)
    async def front() -> Response[Any]:
        return NoBody(302, {"location": f"{below}{root}/index.html"})

    return [
        front,
        file_handler(f"{root}/index.html", "docs.index", lambda _: index),
        file_handler(f"{root}/encrypted-passwords.html", "docs.encrypted-passwords", lambda _: encrypting),
        file_handler(f"{root}/client.js", "docs.client", lambda _: asset("client.js")),
        file_handler(f"{root}/client.d.ts", "docs.client-types", lambda _: asset("client.d.ts")),
        file_handler(f"{root}/assets/{{name:str}}", "docs.asset", _asset),
    ]


def _page(name: str, headers: Mapping[str, str], **values: str) -> File:
    text = {name: html.escape(value) for name, value in values.items()}
    return file_of(Template((ASSETS / name).read_text()).substitute(text).encode(), HTML, headers)


def _asset(request: StrictRequest) -> File:
    if (name := request.path_params["name"]) not in DOCS_FILES:
        raise NotFound
    return asset(name, chosen_coding(request.header(b"accept-encoding"), ["gzip"]) if name in COMPRESSED else None)
