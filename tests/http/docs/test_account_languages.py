"""Languages of account pages: the tenant's, else the browser's, else English; no page mixes them."""

import re
from html.parser import HTMLParser
from urllib.parse import urlencode

import pytest

from adapters.http.account.localized import PageTemplate, filled
from adapters.http.static_files import ASSETS
from domain.words.languages import LANGUAGES
from domain.words.words import words_of
from tests.http.app import TestApp
from tests.http.identity.handover.handing_over import CHALLENGE, REDIRECT, Shop

PAGES = sorted(path.name for path in ASSETS.glob("account-*.html"))
PATHS = ["confirm", "reset", "invitation", "login", "register", "security", "login?app=unknown"]
SPOKEN = ("alt", "aria-label", "placeholder", "title", "value")
"""Attributes that somebody reads or hears."""


class Texts(HTMLParser):
    """What somebody reads on a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in SPOKEN and value]

    def handle_data(self, data: str) -> None:
        self.found += [data.strip()] if data.strip() else []


@pytest.mark.parametrize("name", PAGES)
def test_no_template_has_a_text_of_its_own(name: str) -> None:
    own = [re.sub(r"\$\{[\w.-]+\}|\$\w+|[:\s]", "", text) for text in Texts((ASSETS / name).read_text()).found]
    assert [text for text in own if text] == []


def test_a_text_of_its_own_would_be_found() -> None:
    assert Texts('<p>${login.title} <img alt="A code"> more</p>').found == ["${login.title}", "A code", "more"]


def test_every_text_of_the_pages_is_shown_on_one() -> None:
    asked = {key for name in PAGES for key in PageTemplate((ASSETS / name).read_text()).get_identifiers()}
    written = {key for key in words_of("en").texts if key.partition(".")[0] not in ("mail", "say", "field")}
    by_scripts = {"confirm.done", "confirm.sent", "reset.done", "login.provider"}
    assert {key for key in asked if "." in key} == written - by_scripts


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_page_is_of_one_language(app: TestApp, path: str, language: str) -> None:
    answer = await app.call("GET", f"/account/{path}", headers={"Accept-Language": f"fr, {language};q=0.5"})
    assert f'<html lang="{language}" dir="ltr">' in answer.text
    foreign = {words_of(other).texts[key] for other in LANGUAGES if other != language for key in words_of(other).texts}
    foreign -= set(words_of(language).texts.values())
    assert [text for text in Texts(answer.text).found if text in foreign] == []
    assert "${" not in answer.text


@pytest.mark.parametrize("path", ["confirm", "reset", "invitation"])
async def test_a_shared_cache_keeps_each_language_apart(app: TestApp, path: str) -> None:
    english, german = [
        await app.call("GET", f"/account/{path}", headers={"Accept-Language": language}) for language in LANGUAGES
    ]
    assert english.headers["Vary"] == german.headers["Vary"] == "Accept-Language"
    known = {"Accept-Language": "de", "If-None-Match": english.headers["ETag"]}
    assert (await app.call("GET", f"/account/{path}", headers=known)).status_code == 200
    known = {"Accept-Language": "de", "If-None-Match": german.headers["ETag"]}
    assert (await app.call("GET", f"/account/{path}", headers=known)).status_code == 304


async def test_without_a_known_language_a_page_is_english(app: TestApp) -> None:
    for header in ({}, {"Accept-Language": "fr, *"}):
        assert '<html lang="en"' in (await app.call("GET", "/account/login", headers=header)).text


async def test_the_language_of_the_applications_tenant_comes_before_the_browsers(app: TestApp) -> None:
    tenant = (await app.call("GET", "/api/tenants/current", as_whom="acme")).json()["data"]["id"]
    await Shop(app).register(allowedTenantIds=[tenant])
    query = urlencode({"app": "shop", "redirect": REDIRECT, "code_challenge": CHALLENGE})
    for setting, language in (("de-AT", "de"), ("en-US", "en"), ("fr-FR", "de")):
        changed = await app.call("PUT", "/api/tenants/current/settings", as_whom="acme", json={"language": setting})
        assert changed.status_code == 200, changed.text
        answer = await app.call("GET", f"/account/login?{query}", headers={"Accept-Language": "de"})
        assert f'<html lang="{language}"' in answer.text, setting


async def test_what_is_wrong_with_a_link_is_told_in_the_language_of_the_page(app: TestApp) -> None:
    answer = await app.call("GET", "/account/login?app=unknown", headers={"Accept-Language": "de"})
    assert "Die Adresse für den Rückweg fehlt." in answer.text


def test_values_are_text_wherever_a_page_has_them() -> None:
    values = dict.fromkeys(PageTemplate((ASSETS / "account-register.html").read_text()).get_identifiers(), "")
    values = {key: value for key, value in values.items() if "." not in key}
    values |= {"support": "<i>@x", "application": "{service}<b>", "shortest": "1", "longest": "9"}
    page = filled("account-register.html", words_of("de"), values).decode()
    assert "weiter zu <b>{service}&lt;b&gt;</b>" in page
    assert '<a href="mailto:&lt;i&gt;@x">&lt;i&gt;@x</a>' in page


async def test_the_words_of_the_scripts_are_served(app: TestApp) -> None:
    for language in LANGUAGES:
        answer = await app.call("GET", f"/account/assets/words-{language}.js")
        assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
        assert words_of(language).texts["say.differ"] in answer.text
    assert (await app.call("GET", "/account/assets/words-fr.js")).status_code == 404


def test_scripts_say_nothing_but_words() -> None:
    """A text of two words between quotes would be one that nobody translates."""
    for path in ASSETS.glob("account*.js"):
        code = re.sub(r"^\s*(//|\*|/\*\*).*$", "", path.read_text(), flags=re.MULTILINE)
        assert re.findall(r"[\"`][A-Z][a-z]+ [a-z]+[^\"`]*[\"`]", code) == [], path.name


def test_scripts_ask_for_words_that_are_there() -> None:
    used = {key for path in ASSETS.glob("account*.js") for key in re.findall(r'\bt\("([\w.-]+)"', path.read_text())}
    told = {key for name in PAGES for key in re.findall(r'data-done="([\w.-]+)"', (ASSETS / name).read_text())}
    said = {key for key in words_of("en").texts if key.startswith("say.")}
    assert used | told == said | {"confirm.done", "confirm.sent", "reset.done"}
