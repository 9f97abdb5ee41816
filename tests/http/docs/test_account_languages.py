"""Languages of account pages: the tenant's, else the browser's, else English; no page mixes them."""

import json
import re
from pathlib import Path
from urllib.parse import urlencode

import pytest

from adapters.http.account.localized import BUILT, ShownPage, page_of, refusal_of
from domain.identity.users import PASSWORD_LENGTH
from domain.words.languages import LANGUAGES
from domain.words.words import words_of
from tests.http.app import TestApp
from tests.http.identity.hosted_login.handing_over import CHALLENGE, REDIRECT, Shop

ROOT = Path(__file__).resolve().parents[3]
SOURCE = ROOT / "adapters" / "console" / "source" / "src"
PATHS = ["confirm", "reset", "invitation", "login", "register", "security", "login?app=unknown"]
BY_SERVER = {"page.script", "refused.help", "refused.title", "field.invalid"}
"""Texts of markup, which no script says."""


def imported(entry: Path) -> set[Path]:
    """The entry of a build with all sources that it imports."""
    found, waiting = set[Path](), [entry]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        for kind, name in re.findall(r'^(?:import|export)\b([^;"]*)"(\.[^"]+)"', path.read_text(), re.MULTILINE):
            if kind.strip().startswith("type "):
                continue
            base = (path.parent / name).resolve()
            waiting += [file for end in ("", ".ts", ".tsx") if (file := base.with_name(base.name + end)).is_file()]
    return found


def texts(language: str, *names: str) -> dict[str, str]:
    read = (json.loads((ROOT / "domain/words" / language / f"{name}.json").read_text()) for name in names)
    return {key: text for part in read for key, text in part.items()}


SOURCES = [path for path in imported(SOURCE / "account" / "start.tsx") if path.suffix in (".ts", ".tsx")]


def literals(path: Path) -> set[str]:
    return set(re.findall(r'"([\w.-]+)"', re.sub(r"//.*|/\*.*?\*/", "", path.read_text())))


def test_the_pages_have_every_text_that_their_scripts_ask_for() -> None:
    """No text that only the console has, and none that nobody shows."""
    asked = set().union(*map(literals, SOURCES))
    directly = {key for path in SOURCES for key in re.findall(r'\bt\("([\w.-]+)"', path.read_text())}
    here, console = texts("en", "common", "pages"), set(words_of_the_console())
    assert directly <= here.keys()
    assert {key for key in asked & console if "." in key} == set()
    plain = {re.sub("_(one|other)$", "", key) for key in here if not key.startswith(("field.", "error."))}
    assert plain - asked - BY_SERVER == set()


def words_of_the_console() -> dict[str, str]:
    parts = (SOURCE / "words" / "en" / f"{name}.json" for name in ("rows", "administration", "events"))
    return {key: text for part in parts for key, text in json.loads(part.read_text()).items()}


def test_the_sources_of_the_pages_are_found() -> None:
    assert {"login.ts", "steps.tsx", "Security.tsx", "factors.tsx"} <= {path.name for path in SOURCES}


def test_every_language_is_built() -> None:
    assert sorted(path.stem for path in BUILT.glob("*.html")) == sorted([*LANGUAGES, "refused"])


def test_the_hint_of_a_password_names_the_bounds_that_hold() -> None:
    found = re.findall(r"shortest: (\d+), longest: (\d+)", (SOURCE / "signin" / "fields.tsx").read_text())
    assert found == [tuple(map(str, PASSWORD_LENGTH))]


def test_scripts_say_nothing_but_words() -> None:
    """A text of two words between quotes would be one that nobody translates."""
    for path in SOURCES:
        code = re.sub(r"^\s*(//|\*|/\*\*).*$", "", path.read_text(), flags=re.MULTILINE)
        said = re.findall(r"[\"`][A-Z][a-z]+ [a-z]+[^\"`]*[\"`]", code)
        # the error of a request without an answer is told by its code
        assert [text for text in said if text != '"The service cannot be reached."'] == [], path.name


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_page_is_of_one_language(app: TestApp, path: str, language: str) -> None:
    answer = await app.call("GET", f"/account/{path}", headers={"Accept-Language": f"fr, {language};q=0.5"})
    assert f'<html lang="{language}" dir="ltr">' in answer.text
    foreign = {words_of(other).texts[key] for other in LANGUAGES if other != language for key in words_of(other).texts}
    foreign -= set(words_of(language).texts.values())
    read = re.findall(r">([^<]+)<", answer.text)
    assert [text for text in read if text.partition(":")[0].strip() in foreign] == []
    assert not re.search(r"\$\w|\{\{", answer.text)
    if "unknown" not in path:
        assert re.findall(r'src="[^"]*/(\w+)-\w+\.js"', answer.text) == [language]


@pytest.mark.parametrize("path", ["confirm", "reset", "invitation"])
async def test_a_shared_cache_stores_each_language_separately(app: TestApp, path: str) -> None:
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


async def test_an_error_in_a_link_is_reported_in_the_language_of_the_page(app: TestApp) -> None:
    answer = await app.call("GET", "/account/login?app=unknown", headers={"Accept-Language": "de"})
    assert "Die Adresse für den Rückweg fehlt." in answer.text


def test_values_are_text_wherever_a_page_has_them() -> None:
    page = page_of(ShownPage(name="login", service='"><b>$root', query="'&<i>"), words_of("de"), "../").decode()
    assert "<title>Anmelden: &quot;&gt;&lt;b&gt;$root</title>" in page
    assert "<b>" not in page
    assert "<i>" not in page
    refusal = refusal_of("<b>", "<i>$text", words_of("en"), "../").decode()
    assert "&lt;i&gt;$text" in refusal
    assert "<b>" not in refusal
