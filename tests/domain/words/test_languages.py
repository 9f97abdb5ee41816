"""Languages: which of them somebody reads, from a tenant's setting or a browser's header."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.words.languages import LANGUAGES, accepted_language, chosen_language, language_of


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


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("de-CH, en;q=0.9", "de"),
        ("en;q=0.5, de;q=0.9", "de"),
        ("fr, de;q=0.1", "de"),
        ("fr, de;q=0, en;q=0.1", "en"),
        ("de;q=2, en", "de"),
        ("de;q=x, en;q=0.1", "en"),
        ("de;level=1, en;q=0.1", "en"),
        ("*", None),
        ("fr", None),
        ("", None),
        (None, None),
        ("fr," * 500 + "de", None),
    ],
)
def test_a_browser_asks_for_a_language(header: str | None, language: str | None) -> None:
    assert accepted_language(header) == language


@given(st.text(max_size=40))
def test_no_header_breaks_the_reading(header: str) -> None:
    assert accepted_language(header) in (None, *LANGUAGES)


def test_the_first_known_language_is_taken_else_english() -> None:
    assert chosen_language("fr", "de-DE", "en") == "de"
    assert chosen_language("fr", None) == "en"
    assert chosen_language() == "en"
