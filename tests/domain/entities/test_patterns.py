"""Patterns of fields: catastrophic ones are mistakes, and their end is the end of the text."""

import pytest

from domain.entities.forms import read_new
from domain.entities.mistakes.patterns import pattern_mistakes, whole_text
from domain.entities.registry import build_registry
from domain.errors import ValidationError
from tests.domain.entities.test_declaration_mistakes import declared, text


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+",
        "^(a*)*$",
        "(?:a+b?)+c",
        r"(\w+\s?)+$",
        "(.*,)+",
        "([a-z]+){20,}x",
        "((a+))+",
        "(([a-z])+)+",
        r"([^x]*\d)*x",
        "((ab)|(a+)+)x",
    ],
)
def test_a_repetition_of_a_repetition_is_refused(pattern: str) -> None:
    assert len(list(pattern_mistakes(pattern))) == 1


@pytest.mark.parametrize(
    "pattern",
    [
        "^[a-z0-9]+(-[a-z0-9]+)*$",
        "^([a-z]+-)+$",
        "^(?:[0-9]{1,3}\\.){3}[0-9]{1,3}$",
        "(a+){2}",
        "^a$|^b$",
        "^(a|b)$",
        "a|b",
        r"^\d+(\.\d+)?$",
        r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
        "(a|ab)*c",
        "[$]|a",
    ],
)
def test_patterns_that_are_no_mistake(pattern: str) -> None:
    assert list(pattern_mistakes(pattern)) == []


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("^a$", r"^a\Z"),
        ("^a$|^b$", r"^a\Z|^b\Z"),
        ("^(?:a$|b$)", r"^(?:a\Z|b\Z)"),
        (r"^a\$$", r"^a\$\Z"),
        ("^[$]$", r"^[$]\Z"),
        (r"^[^\]$]$", r"^[^\]$]\Z"),
        ("^[]$]$", r"^[]$]\Z"),
        (r"\\$", r"\\\Z"),
        ("(?m)^a$", "(?m)^a$"),
    ],
)
def test_the_end_of_a_pattern_is_the_end_of_the_text(pattern: str, expected: str) -> None:
    assert whole_text(pattern) == expected


@pytest.mark.parametrize("pattern", ["^a$", "^a$|^b$", "^(?:a|b)$", "^(a$|b$)"])
def test_a_final_line_feed_does_not_get_in(pattern: str) -> None:
    model = build_registry([declared({"name": text(pattern=pattern)})])["as"]
    assert read_new(model, {"name": "a"}) == {"name": "a"}
    with pytest.raises(ValidationError) as caught:
        read_new(model, {"name": "a\n"})
    assert "\\Z" not in str(caught.value.fields)
