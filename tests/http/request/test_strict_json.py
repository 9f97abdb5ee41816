"""Two readers of JSON, a quick one and a strict one: what the quick one takes, the strict one reads alike."""

import json
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adapters.http import strict_reading
from adapters.http.strict_reading import DEPTH, read_json, read_strictly
from domain.errors import BadRequest

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**25), 10**25)
    | st.text(max_size=6)
    | st.floats(allow_nan=False, allow_infinity=False)
)
NAMES = st.sampled_from(["a", "b", ":", "a:", '"', "é", "\u2028"])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=12
)
TEXTS = st.builds(
    lambda value, ascii_, gaps: json.dumps(value, ensure_ascii=ascii_, separators=gaps),
    VALUES,
    st.booleans(),
    st.sampled_from([(",", ":"), (", ", ": "), (" ,", " :"), ("\n,", "\t:")]),
)


def read(text: str) -> object:
    try:
        return read_json(text.encode(), decimals=True)
    except BadRequest as error:
        return error.message


def read_by_the_strict_one(text: str) -> object:
    try:
        return read_strictly(text, decimals=True)
    except BadRequest as error:
        return error.message


def exactly(value: object) -> str:
    """1, 1.0 and True are equal, and not the same."""
    return repr(value)


@given(TEXTS)
@example("[1e400, -0, -0.0, 1E+2, 1.50, 123456789012345678, 1234567890123456789, -1234567890123456789]")
@example("1e99999999999999999999")
@example("1234567890123456789")
@example("null")
@example('{"a":1}\x00')
@example('["\x01"]')
@example("[01]")
@example("[1.]")
@example("[NaN]")
@example("[" * 40 + "]" * 40)
def test_both_read_the_same(text: str) -> None:
    assert exactly(read(text)) == exactly(read_by_the_strict_one(text))


@given(TEXTS, st.integers(0, 60), st.sampled_from([*'{}[]:,"\\ 0e-.a', "", '"a":1,', "\x00"]))
def test_both_refuse_the_same(text: str, app: int, put: str) -> None:
    broken = text[:app] + put + text[app + 1 :]
    assert exactly(read(broken)) == exactly(read_by_the_strict_one(broken))


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":1}',
        '{"a" :1,"a":1}',
        '{"a":{"b":1,"b":2}}',
        '[{"a":":","a":1}]',
        '{"a":1,"a":":","b":2}',
        '{"":1,"":1}',
    ],
)
def test_a_name_that_stands_twice_is_refused(text: str) -> None:
    assert read(text) == "A name stands twice in one JSON object."


def test_the_quick_one_takes_the_usual() -> None:
    assert strict_reading.read_quickly(b'{"a":[1.50,true]}', '{"a":[1.50,true]}') == {"a": [Decimal("1.50"), True]}


def test_numbers_stay_what_they_are() -> None:
    assert exactly(read("[1.10, 1, 1e2]")) == exactly([Decimal("1.10"), 1, Decimal("1E+2")])


def test_what_is_nested_too_deep_is_refused() -> None:
    deepest = "[" * DEPTH + "]" * DEPTH
    assert isinstance(read(deepest), list)
    assert isinstance(read(f"[{deepest}]"), str)
