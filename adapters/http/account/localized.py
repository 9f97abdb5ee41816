"""Account pages in one language: markup and scripts of ``assets/account``, with the page's data."""

import html
from collections.abc import Mapping
from functools import cache
from string import Template
from typing import Any

import msgspec
from msgspec import Struct

from adapters.http.request.strict_request import StrictRequest
from adapters.http.static_files import ALONE, ASSETS
from domain.words.languages import chosen_language
from domain.words.words import Words

BUILT = ASSETS / "account"
"""Pages built by `make console` from ``adapters/console/source``."""

VARIES = {"vary": "Accept-Language"}
# Security: the pages' addresses contain a secret, so forbid inline code and framing.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src data:; connect-src 'self'; "
    f"{ALONE}"
)


class ShownTarget(Struct, frozen=True, kw_only=True, rename="camel"):
    """The target application of a login: its ``name``, and the parameters of the link."""

    app: str
    name: str
    redirect: str
    challenge: str
    state: str | None


class ShownPage(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Page data for the page's script; ``page.ts`` has the same names.

    ``name`` is the last step of the page's path, ``service`` the name at the top of the page; ``query`` names the
    application for links to other pages. A login without an application ends at ``ends_at``, a path from the root.
    ``outcome`` is the result of a login at a social provider that continues on this page.
    """

    name: str
    service: str
    target: ShownTarget | None = None
    query: str = ""
    ends_at: str = ""
    is_open: bool = False
    providers: tuple[dict[str, str], ...] = ()
    logo: str | None = None
    color: str | None = None
    text_color: str | None = None
    support: str | None = None
    outcome: Any = None


def policy_with(picture: str) -> str:
    """Return the content security policy of a page with one external picture, at the address ``picture``."""
    return POLICY.replace("img-src data:", f"img-src data: {picture}")


def language_for(request: StrictRequest, tenant_language: str | None = None) -> str:
    """Return the language of the page's tenant, else the browser's, else English."""
    return chosen_language(tenant_language, request.from_client.language)


def page_of(page: ShownPage, words: Words, root: str) -> bytes:
    """Return the HTML of a page; ``root`` is the relative path to the service's root."""
    values = {
        "title": words.text(f"{page.name}.title"),
        "service": page.service,
        "script": words.text("page.script"),
        "page": msgspec.json.encode(page).decode(),
    }
    return _filled(f"{words.language}.html", words, root, values)


def refusal_of(service: str, told: str, words: Words, root: str) -> bytes:
    """Return the HTML of an error page for an invalid link."""
    values = {
        "title": words.text("refused.title"),
        "service": service,
        "help": words.text("refused.help"),
        "text": told,
    }
    return _filled("refused.html", words, root, values)


def _filled(name: str, words: Words, root: str, values: Mapping[str, str]) -> bytes:
    """Insert ``values`` as text into a built page."""
    assets = f"{root}account/assets"
    whole = {"language": words.language, "direction": words.direction, "assets": assets, **values}
    return _template(name).substitute({key: html.escape(value) for key, value in whole.items()}).encode()


@cache
def _template(name: str) -> Template:
    return Template((BUILT / name).read_text(encoding="utf-8"))
