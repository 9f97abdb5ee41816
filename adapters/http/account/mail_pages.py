"""`/account/confirm`, `/account/reset` and `/account/invitation`: targets of links in mails, and the pages' files."""

from litestar.handlers import HTTPRouteHandler

from adapters.http.account.localized import BUILT, POLICY, VARIES, ShownPage, language_for, page_of
from adapters.http.request.strict_request import StrictRequest
from adapters.http.static_files import HTML, NOTHING_MORE, File, compressed, file_handler, file_of, unpacked, variant
from domain.errors import NotFound
from domain.words.languages import LANGUAGES
from domain.words.words import words_of

NAMES = ("confirm", "invitation", "reset")
HEADERS = {"content-security-policy": POLICY, "referrer-policy": "no-referrer", **VARIES}


def account_handlers(service: str) -> list[HTTPRouteHandler]:
    """Return handlers of the pages to confirm an address, set a new password and accept an invitation."""
    return [*(_page_handler(name, service) for name in NAMES), _asset_handler()]


def _page_handler(name: str, service: str) -> HTTPRouteHandler:
    page = ShownPage(name=name, service=service)
    pages = {language: file_of(page_of(page, words_of(language), "../"), HTML, HEADERS) for language in LANGUAGES}
    return file_handler(f"/account/{name}", f"account.{name}", lambda request: pages[language_for(request)])


def _asset_handler() -> HTTPRouteHandler:
    built = {name: content for name, content in unpacked(BUILT).items() if not name.endswith((".html", "SUMS"))}
    files = dict(compressed(built, NOTHING_MORE))

    def found(request: StrictRequest) -> File:
        variants = files.get(request.path_params["name"])
        if variants is None:
            raise NotFound
        return variant(request, variants)

    return file_handler("/account/assets/{name:str}", "account.asset", found)
