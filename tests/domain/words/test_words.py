"""Words: every language has every text, with the same places; the API's sentences are translated.

Languages: which of them somebody reads, from the tags of a tenant's setting or a browser's header.
"""

import re
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest

from domain.errors import ValidationError
from domain.forms import read_form
from domain.words.languages import LANGUAGES, chosen_language, language_of
from domain.words.words import Words, words_of
from tests.domain.words.sentences import ROOT, files, said_in

ENGLISH = words_of("en")
OTHERS = pytest.mark.parametrize("words", [words_of(language) for language in LANGUAGES[1:]], ids=LANGUAGES[1:])
SAME_IN_BOTH = {"field.is", "mfa.code", "name", "offline.title", "passkey"}
"""Texts that need not differ from the English ones."""

SPOKEN = ("domain", "application", "adapters/http", "adapters/postgres", "adapters/sheets")
"""Where errors are raised that a person may read on a page or in the console."""
UNSEEN = (
    "domain/entities/mistakes",  # of declarations, which the start of a service tells
    "adapters/postgres/connection/locales.py",  # of databases, which the start of a service tells
    "application/identity/user_import/imported_rows.py",  # of commands of whoever runs the service
    "application/identity/user_import/user_import.py",
    "application/identity/administration/operator_accounts.py",
)
"""Files whose errors reach neither a page nor the console."""


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


@pytest.mark.promise("console, journeys: German, errors of the API included")
@OTHERS
def test_every_api_sentence_that_pages_can_show_is_translated(words: Words) -> None:
    paths = [path for path in files(SPOKEN) if not path.relative_to(ROOT).as_posix().startswith(UNSEEN)]
    sentences = {sentence for path in paths for sentence in said_in(path) if re.search("[a-z]", sentence)}
    assert len(sentences) > 300
    assert sorted(sentence for sentence in sentences if words.answer(sentence) is None) == []


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        (int, "many", "muss sein: eine ganze Zahl; gegeben ist: Text"),
        (int | None, "many", "muss sein: eine ganze Zahl oder nichts; gegeben ist: Text"),
        (list[str], 1, "muss sein: eine Liste; gegeben ist: eine ganze Zahl"),
        (Annotated[str, msgspec.Meta(min_length=3)], "x", "muss sein: Text, Länge >= 3"),
        (Annotated[str, msgspec.Meta(pattern="^[a-z]$")], "X", "muss Text nach dem Muster '^[a-z]$' sein"),
        (Annotated[int, msgspec.Meta(ge=3)], 1, "muss eine ganze Zahl sein, mindestens 3"),
        (Annotated[float, msgspec.Meta(lt=3)], 4.5, "muss eine Zahl sein, kleiner als 3.0"),
        (Annotated[int, msgspec.Meta(multiple_of=5)], 4, "muss eine ganze Zahl sein, ein Vielfaches von 5"),
        (UUID, "x", "muss eine Kennung (UUID) sein, wie 0198c0de-0000-7000-8000-000000000000"),
        (datetime, "x", "muss ein Zeitpunkt mit Zone sein, wie 2026-11-20T12:00:00Z"),
        (date, "x", "muss ein Datum sein, wie 2026-11-20"),
        (Decimal, "x", "muss eine Zahl in einfachen Ziffern sein"),
        (Literal["a", "b"], "c", "ist eines von: a, b"),
    ],
    ids=str,
)
def test_an_invalid_value_is_described_in_german(kind: Any, value: object, told: str) -> None:
    form = msgspec.defstruct("Form", [("value", kind)])
    with pytest.raises(ValidationError) as refused:
        read_form(form, {"value": value})
    assert [words_of("de").answer(error.message) for error in refused.value.fields] == [told]


def test_sentences_are_translated_with_their_numbers_and_unknown_ones_are_not() -> None:
    german = words_of("de")
    assert german.answer("must have 10 to 256 characters") == "braucht 10 bis 256 Zeichen"
    assert german.answer("is not (an) e-mail.address") is None
    assert ENGLISH.answer("whatever it is") == "whatever it is"


def test_values_are_not_read_as_places() -> None:
    assert ENGLISH.text("login.provider", {"provider": "{provider} {x}"}) == "Continue with {provider} {x}"


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("de", "de"),
        ("de-AT", "de"),
        ("DE_ch", "de"),
        ("en-US", "en"),
        ("fr", None),
        ("den", None),
        ("", None),
        (None, None),
    ],
)
def test_a_tag_is_of_a_language(tag: str | None, language: str | None) -> None:
    assert language_of(tag) == language


def test_the_first_known_language_is_taken_else_english() -> None:
    assert chosen_language("fr", "de-DE", "en") == "de"
    assert chosen_language("fr", None) == "en"
    assert chosen_language() == "en"
