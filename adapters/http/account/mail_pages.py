"""`/account/confirm`, `/account/reset` and `/account/invitation`: what links in mails lead to, and the pages' files."""

from collections.abc import Mapping

from litestar.handlers import HTTPRouteHandler

from adapters.http.account.localized import POLICY, VARIES, filled, language_for, script_name, script_words
from adapters.http.request.strict_request import StrictRequest
from adapters.http.static_files import ASSETS, HTML, TYPES, File, asset, file_handler, file_of
from domain.errors import NotFound
from domain.words.languages import LANGUAGES
from domain.words.words import words_of

NAMES = ("confirm", "invitation", "reset")
FILES = frozenset(path.name for path in ASSETS.glob("account*") if path.suffix in TYPES)
"""Scripts and styles of the pages."""

HEADERS = {"content-security-policy": POLICY, "referrer-policy": "no-referrer", **VARIES}


def account_handlers(service: str) -> list[HTTPRouteHandler]:
    """Pages for products without pages of their own: confirm an address, set a new password, accept an invitation."""
    values = {"service": service, "root": "../"}
    handlers = [_page_handler(name, _in_each_language(f"account-{name}.html", values)) for name in NAMES]
    return [*handlers, _asset_handler()]


def _in_each_language(name: str, values: Mapping[str, str]) -> dict[str, File]:
    """The pages by their languages, made once: they are the same for everybody."""
    return {language: file_of(filled(name, words_of(language), values), HTML, HEADERS) for language in LANGUAGES}


def _page_handler(name: str, pages: Mapping[str, File]) -> HTTPRouteHandler:
    return file_handler(f"/account/{name}", f"account.{name}", lambda request: pages[language_for(request)])


def _asset_handler() -> HTTPRouteHandler:
    scripts = {script_name(language): script_words(language) for language in LANGUAGES}

    def found(request: StrictRequest) -> File:
        name = request.path_params["name"]
        if name not in scripts and name not in FILES:
            raise NotFound
        return scripts[name] if name in scripts else asset(name)

    return file_handler("/account/assets/{name:str}", "account.asset", found)
