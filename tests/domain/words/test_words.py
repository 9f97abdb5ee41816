"""Words: every language has every text, with the same places; the API's sentences are translated."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.words.languages import LANGUAGES
from domain.words.words import Words, words_of

ROOT = Path(__file__).resolve().parents[3]
ENGLISH = words_of("en")
OTHERS = pytest.mark.parametrize("words", [words_of(language) for language in LANGUAGES[1:]], ids=LANGUAGES[1:])
SAME_IN_BOTH = {"login.a-passkey", "say.passkey", "say.field"}
"""Texts that need not differ from the English ones."""

SHOWN = (
    "application/identity/accounts.py",
    "application/identity/registration.py",
    "application/identity/password_rules.py",
    "application/identity/linked_identities.py",
    "application/identity/factors",
    "application/identity/handover/targets.py",
    "application/identity/handover/social_redirect.py",
    "application/identity/joining/acceptance.py",
    "application/identity/login/applications.py",
    "application/identity/login/authentication.py",
    "application/identity/login/issuing.py",
    "application/identity/login/reauthentication.py",
    "application/identity/login/sign_in.py",
    "application/identity/login/social_sign_in.py",
    "adapters/http/account",
    "domain/errors.py",
    "domain/identity/passwords.py",
    "domain/identity/invitations.py",
)
"""Files whose errors account pages show."""

ERRORS = ("on", "FieldError", "Conflict", "Forbidden", "TokenInvalid", "InvalidCredentials", "AccountLocked")


def places(text: str) -> list[str]:
    return sorted(re.findall(r"\{\w+\}", text))


@OTHERS
def test_every_language_has_every_text_with_its_places(words: Words) -> None:
    assert list(words.texts) == list(ENGLISH.texts)
    assert list(words.answers) == list(ENGLISH.answers)
    for key, text in ENGLISH.texts.items():
        assert places(words.texts[key]) == places(text), key
    for sentence, text in words.answers.items():
        assert places(text) == places(sentence), sentence


@OTHERS
def test_no_text_was_left_in_english(words: Words) -> None:
    same = {key for key, text in words.texts.items() if text == ENGLISH.texts[key]}
    assert same <= SAME_IN_BOTH
    assert [sentence for sentence, text in words.answers.items() if sentence == text] == []


@OTHERS
def test_a_mail_has_the_same_paragraphs_in_every_language(words: Words) -> None:
    for key in (key for key in ENGLISH.texts if key.startswith("mail.") and key.rpartition(".")[2].startswith("text")):
        assert len(words.texts[key].split("\n\n")) == len(ENGLISH.texts[key].split("\n\n")), key


@OTHERS
def test_what_a_page_may_show_of_the_api_is_translated(words: Words) -> None:
    files = [
        path for name in SHOWN for path in ([ROOT / name] if name.endswith(".py") else (ROOT / name).rglob("*.py"))
    ]
    sentences = {sentence for path in files for sentence in said_in(ast.parse(path.read_text()))}
    assert len(sentences) > 60
    assert sorted(sentence for sentence in sentences if words.answer(sentence) is None) == []


def said_in(tree: ast.AST) -> Iterator[str]:
    """The sentences that a module gives to its errors; what is filled in is a number."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["sentence"]:
            yield from text_of(node.value)
        if isinstance(node, ast.Call) and node.args and ast.unparse(node.func).rpartition(".")[2] in ERRORS:
            yield from text_of(node.args[-1])


def text_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    if isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "12" for part in node.values)


def test_sentences_are_translated_with_their_numbers_and_unknown_ones_are_told_apart() -> None:
    german = words_of("de")
    assert german.answer("takes 10 to 256 characters") == "braucht 10 bis 256 Zeichen"
    assert german.answer("is not (an) e-mail.address") is None
    assert ENGLISH.answer("whatever it is") == "whatever it is"


def test_values_are_not_read_as_places() -> None:
    assert ENGLISH.text("say.this-session", {"address": "{address} {x}"}) == "{address} {x}, this session"
