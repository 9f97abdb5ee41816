"""Patterns of fields: catastrophic ones are mistakes, and their end is the end of the text."""

import math

import pytest

from domain.entities.forms import read_new
from domain.entities.mistakes.patterns import degree, pattern_mistakes, whole_text
from domain.entities.registry import build_registry
from domain.errors import ValidationError
from tests.domain.entities.test_declaration_mistakes import declared, text


@pytest.mark.promise(
    "declarations, checks: a pattern that reads one text in many ways is refused, by repetitions in each other and by "
    "alternatives"
)
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
        "^(a|a?)+$",
        "^(aa|aaa)+$",
        "^([a-z]+|[0-9]+)+$",
        "^(ab?|a?b)*c$",
        r"^(.|\s)*$",
        "^((a{2}|a{3})+)$",
        "^([a-z]{1,19}){1,19}$",
        "^(?=(a+)+$)b",
        "^(ß|ßß)+$",
        r"^(?:(?:-?\d*)?,)*$",
        "^(?:(?:[ab]?)+c)*b$",
        "(?i)^(ab|AB?)*$",
    ],
)
def test_a_repetition_that_reads_one_text_in_many_ways_is_refused(pattern: str) -> None:
    (told,) = pattern_mistakes(pattern, 20)
    assert "reads one text in many ways" in told


@pytest.mark.promise(
    "declarations, checks: a pattern that reads one text in many ways is refused, by repetitions in each other and by "
    "alternatives"
)
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
        "[$]|a",
        "^(?:[a-z]{1,2}[0-9]){19}$",
        "(ab?)*c",
        r"^(?:[a-z0-9]+(?:-+[a-z0-9]+)*\.)+[a-z]{2,}$",
        "^(?:red|rose)(?:,(?:red|rose))*$",
        r"^(?=.*\d)(?=.*[a-z]).{8,}$",
        r"^((25[0-5]|(2[0-4]|1\d|[1-9]|)\d)\.?\b){4}$",
    ],
)
def test_safe_patterns_are_accepted(pattern: str) -> None:
    assert list(pattern_mistakes(pattern, 20)) == []


@pytest.mark.parametrize(
    "pattern",
    ["(a|ab)*c", r"^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,}$", "^(?:[a-z]{1,2}){19}$"],
)
def test_a_repeated_group_is_refused_where_a_later_character_decides(pattern: str) -> None:
    """Such a pattern takes no long time, and has to be written as the message says."""
    (told,) = pattern_mistakes(pattern, 20)
    assert "'(?:ab?)*' instead of '(?:a|ab)*'" in told


POWERS = {
    "^[a-z]+$": 1,
    "[a-z]+": 2,  # what ends it is not looked at
    "[a-z]+$": 2,  # a search begins at each letter
    r"^\s*(.*)\s*$": 3,
    r"^[^@\s]+@[^@\s]+\.[^@\s]+$": 2,
    r"^\S+@\S+\.\S+$": 3,
    r"^\w+@\w+\.\w+$": 1,
    r"\A[a-z]+\Z": 1,  # the same as ^ and $ here, which (?m) turns into those of a line
    r"(?m)\A[a-z]+\Z": 1,
    "(?m)^[a-z]+$": 2,
    "^[a-z]{1,30}-?[a-z]{1,30}$": 1,
    r"^(?:\d+,*){2}\d+$": 3,
    "^(?:(?=x)a,?)+$": 1,
    "^[a-z]{1,3000}-?[a-z]{1,3000}$": 2,
    r"^.*.*.*.*=$": 4,
    "^(?:xy|a)+a+$": 2,
    "^(?:ab)+b+$": 1,
}


@pytest.mark.promise(
    "declarations, checks: a pattern whose time grows with a power of the text's length needs a max_length"
)
@pytest.mark.parametrize("pattern", POWERS)
def test_a_pattern_with_polynomial_time_needs_a_max_length(pattern: str) -> None:
    assert degree(pattern) == POWERS[pattern]
    told = list(pattern_mistakes(pattern, None))
    assert [f"the length of a text to the power of {POWERS[pattern]}: add max_length=" in each for each in told] == (
        [True] if POWERS[pattern] > 1 else []
    )
    if told:
        most = int(told[0].partition("max_length=")[2].partition(" ")[0])
        assert list(pattern_mistakes(pattern, most)) == []
        assert list(pattern_mistakes(pattern, most + 1)) == [told[0]]


def test_a_list_of_hundreds_of_words_is_judged() -> None:
    words = [f"{first}{second}{number}" for number in range(10) for first in "abcdef" for second in "xyz"]
    listed = "|".join(words)
    assert [degree(pattern) for pattern in (f"^(?:{listed})$", f"^(?:{listed})(?:,(?:{listed}))*$")] == [1, 1]
    assert degree(f"^(?:{listed}|a|x3)+$") == math.inf


@pytest.mark.promise(
    "declarations, checks: a pattern whose time grows with a power of the text's length needs a max_length"
)
def test_an_email_pattern_of_the_usual_length_is_accepted() -> None:
    usual = text(pattern=r"^\S+@\S+\.\S+$", max_length=254)
    build_registry([declared({"email": usual})])


@pytest.mark.promise(
    "declarations, checks: a pattern that anchors only some alternatives is refused; a final line feed gets past no $"
)
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


@pytest.mark.promise(
    "declarations, checks: a pattern that anchors only some alternatives is refused; a final line feed gets past no $"
)
@pytest.mark.parametrize("pattern", ["^a$", "^a$|^b$", "^(?:a|b)$", "^(a$|b$)"])
def test_a_final_line_feed_does_not_match_a_pattern(pattern: str) -> None:
    model = build_registry([declared({"name": text(pattern=pattern)})])["as"]
    assert read_new(model, {"name": "a"}) == {"name": "a"}
    with pytest.raises(ValidationError) as caught:
        read_new(model, {"name": "a\n"})
    assert "\\Z" not in str(caught.value.fields)
