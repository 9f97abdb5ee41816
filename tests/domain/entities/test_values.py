"""Values of filters as text: which texts can be stored, and lists between commas."""

from decimal import Decimal

import pytest

from domain.entities.kinds import Kind
from domain.entities.query.kinds import read_value
from domain.entities.query.values import NotAValue, read_text, split_list
from domain.entities.registry import build_registry
from tests.twins.everything import DECLARED


@pytest.mark.parametrize("text", ["a\0b", "\0", "\ud800", "a\udfffb", "\0\ud800"])
def test_a_text_that_no_database_can_hold_is_no_value(text: str) -> None:
    with pytest.raises(NotAValue):
        read_text(text)


def test_a_decimal_has_200_digits_before_and_after_its_point_at_most() -> None:
    decimals = [field for model in build_registry(DECLARED) for field in model.fields if field.kind is Kind.DECIMAL]
    assert read_value(decimals[0], "1e200") == Decimal("1e200")
    assert read_value(decimals[0], "1e-200") == Decimal("1e-200")
    for text in ("1e201", "1e-201", "10e200"):
        with pytest.raises(NotAValue):
            read_value(decimals[0], text)


def test_any_other_text_is_read_as_it_is() -> None:
    assert read_text("é\t\U0001f600") == "é\t\U0001f600"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a,b", ["a", "b"]),
        ('"a,b",c', ["a,b", "c"]),
        ('"a""b"', ['a"b']),
        ('"a""",b', ['a"', "b"]),
        ('"",', ["", ""]),
        ('a"b,c', ['a"b', "c"]),
    ],
)
def test_lists_are_quoted_as_in_csv(text: str, values: list[str]) -> None:
    assert split_list(text, 9) == values


@pytest.mark.parametrize("text", ['"', '"a', '"a""', '"a"b', '"a" ,b'])
def test_a_quoted_value_ends_at_its_quote(text: str) -> None:
    with pytest.raises(NotAValue, match="does not end"):
        split_list(text, 9)


def test_a_list_has_so_many_values_and_no_more() -> None:
    assert len(split_list("a,b,c", 3)) == 3
    with pytest.raises(NotAValue, match="at most 3 values"):
        split_list("a,b,c,d", 3)
