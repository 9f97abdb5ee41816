"""Languages: which of them somebody reads, from the tags of a tenant's setting or a browser's header."""

import pytest

from domain.words.languages import chosen_language, language_of


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
