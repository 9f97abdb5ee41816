"""Account pages in a language: markup and scripts of ``assets/account``, and what a page is told about itself."""

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
"""The pages as `make console` builds them from ``adapters/console/source``."""

VARIES = {"vary": "Accept-Language"}
# the pages hold a secret in their address: nothing inline, and in no other page's frame
POLICY = f"default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; {ALONE}"


class ShownTarget(Struct, frozen=True, kw_only=True, rename="camel"):
    """The application that gets a login, with its ``name``; the rest is what the link named."""

    app: str
    name: str
    redirect: str
    challenge: str
    state: str | None


class ShownPage(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What the script of a page reads about the page: ``page.ts`` has the same names.

    ``name`` is the last step of the page's path, ``service`` the name above the page; ``query`` names the application
    for links to other pages; a login without one ends at ``ends_at``, a path from the root. ``outcome`` is the answer
    of a login that has begun elsewhere and goes on here.
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
    """The content security policy of a page that shows one picture of another host; ``picture`` is its address."""
    return POLICY.replace("img-src data:", f"img-src data: {picture}")


def language_for(request: StrictRequest, tenant_language: str | None = None) -> str:
    """The language of the tenant that a page is for, else the browser's, else English."""
    return chosen_language(tenant_language, request.from_client.language)


def page_of(page: ShownPage, words: Words, root: str) -> bytes:
    """The markup of a page, whose script does the rest; ``root`` leads from the page to the root of the service."""
    values = {
        "title": words.text(f"{page.name}.title"),
        "service": page.service,
        "script": words.text("page.script"),
        "page": msgspec.json.encode(page).decode(),
    }
    return _filled(f"{words.language}.html", words, root, values)


def refusal_of(service: str, told: str, words: Words, root: str) -> bytes:
    """The markup of a page that says what is wrong with a link, and leads nowhere."""
    values = {
        "title": words.text("refused.title"),
        "service": service,
        "help": words.text("refused.help"),
        "text": told,
    }
    return _filled("refused.html", words, root, values)


def _filled(name: str, words: Words, root: str, values: Mapping[str, str]) -> bytes:
    """A built page whose places hold ``values`` as text."""
    assets = f"{root}account/assets"
    whole = {"language": words.language, "direction": words.direction, "assets": assets, **values}
    return _template(name).substitute({key: html.escape(value) for key, value in whole.items()}).encode()


@cache
def _template(name: str) -> Template:
    return Template((BUILT / name).read_text(encoding="utf-8"))
