"""Account pages in the words of a language: markup of ``assets`` whose texts stand in ``domain/words``."""

import html
import re
from collections.abc import Mapping
from functools import lru_cache
from string import Template

import msgspec

from adapters.http.request.strict_request import StrictRequest
from adapters.http.static_files import ALONE, ASSETS, NOTHING_MORE, TYPES, File, file_of
from domain.identity.users import PASSWORD_LENGTH
from domain.words.languages import LANGUAGES, chosen_language
from domain.words.words import Words, words_of

VARIES = {"vary": "Accept-Language"}
# the pages hold a secret in their address: nothing inline, and in no other page's frame
POLICY = f"default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; {ALONE}"

ELEMENTS: Mapping[str, str] = {
    "application": "<b>{}</b>",
    "email": '<b id="email"></b>',
    "ends": '<time id="ends"></time>',
    "inviter": '<span id="inviter"></span>',
    "secret": '<code id="secret" dir="ltr"></code>',
    "support": '<a href="mailto:{0}">{0}</a>',
    "tenant": '<b id="tenant"></b>',
    "who": '<b id="who"></b>',
    "whose": '<strong id="whose"></strong>',
}
"""Markup that places of texts stand for, with the place's own value, or filled in by a script."""

LENGTHS = dict(zip(("shortest", "longest"), map(str, PASSWORD_LENGTH), strict=True))
"""Values of passwords, which any page may name."""

_PLACE = re.compile(r"\{(\w+)\}")


class PageTemplate(Template):
    """The markup of an account page, in which ``${login.title}`` is a text by its key and ``$root`` is a value."""

    braceidpattern = r"[a-z]\w*(?:[.-][a-z][\w.-]*)?"


def policy_with(picture: str) -> str:
    """The content security policy of a page that shows one picture of another host; ``picture`` is its address."""
    return POLICY.replace("img-src data:", f"img-src data: {picture}")


def language_for(request: StrictRequest, tenant_language: str | None = None) -> str:
    """The language of the tenant that a page is for, else the browser's, else English."""
    return chosen_language(tenant_language, request.from_client.language)


def filled(name: str, words: Words, values: Mapping[str, str], markup: Mapping[str, str] = NOTHING_MORE) -> bytes:
    """The page of ``assets`` in the language of ``words``; ``values`` are text, ``markup`` is not."""
    escaped = {key: html.escape(value) for key, value in {**LENGTHS, **values}.items()}
    texts = {key: _marked_up(words.texts[key], escaped) for key in _keys(name)}
    whole = {"language": words.language, "direction": words.direction, **escaped, **texts, **markup}
    return _template(name).substitute(whole).encode()


def _marked_up(text: str, escaped: Mapping[str, str]) -> str:
    """The text as markup, its places filled in."""

    def place(found: re.Match[str]) -> str:
        value = escaped.get(found[1], "")
        return ELEMENTS.get(found[1], "{}").format(value)

    return _PLACE.sub(place, html.escape(text))


@lru_cache
def script_words(language: str) -> File:
    """A script of what the pages' scripts say: ``{texts: {key: text}, answers: [[English, text]]}``."""
    words = words_of(language)
    texts = {
        key: text for prefix in ("say.", "field.", "confirm.", "reset.") for key, text in words.part(prefix).items()
    }
    # English answers are the API's own
    answers = [] if language == LANGUAGES[0] else list(words.answers.items())
    content = msgspec.json.encode({"texts": texts, "answers": answers})
    return file_of(b"export default " + content + b";\n", TYPES[".js"])


def script_name(language: str) -> str:
    return f"words-{language}.js"


@lru_cache
def _template(name: str) -> PageTemplate:
    """A page in the frame of all of them; the title of ``account-reset.html`` is the text ``reset.title``."""
    frame, page = ((ASSETS / part).read_text() for part in ("account.html", name))
    title = name.removeprefix("account-").removesuffix(".html")
    return PageTemplate(frame.replace("$title", f"${{{title}.title}}").replace("$page", page))


@lru_cache
def _keys(name: str) -> tuple[str, ...]:
    """Keys of the texts that a page asks for."""
    return tuple(key for key in _template(name).get_identifiers() if "." in key)
