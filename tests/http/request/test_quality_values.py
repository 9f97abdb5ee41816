"""Weights of what a client takes: content types, codings and languages are read by the same rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.http.request.quality_values import accepted_language, weights
from domain.words.languages import LANGUAGES


@pytest.mark.parametrize(
    ("part", "weight"),
    [
        ("a", 1.0),
        ("a;q=0.5", 0.5),
        ("A ; Q = 0.5 ", 0.5),
        ("a;charset=utf-8;q=0.25", 0.25),
        ("a;level=1", 1.0),
        ("a;q=2", 1.0),
        ("a;q=", 0.0),
        ("a;q", 0.0),
        ("a;q=-1", 0.0),
        ("a;q=nan", 0.0),
        ("a;q=1e999", 0.0),
        ("a;q=٣", 0.0),
    ],
)
def test_a_value_has_a_weight(part: str, weight: float) -> None:
    assert weights(part) == [("a", weight)]


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("de-CH, en;q=0.9", "de"),
        ("en;q=0.5, de;q=0.9", "de"),
        ("fr, de;q=0.1", "de"),
        ("fr, de;q=0, en;q=0.1", "en"),
        ("de;q=2, en", "de"),
        ("de;q=x, en;q=0.1", "en"),
        ("de;level=1, en;q=0.1", "de"),
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
