"""Values of filters as text: which texts can be stored, and lists between commas.

Values of bodies and filters: exact, finite, and of one spelling.

Bodies of one row and of many: fields that a caller may send, and the errors of the others.
"""

from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from domain.entities.bodies import (
    EVERY_FIELD,
    FieldAccess,
    field_access,
    read_changes_from,
    read_new_from,
)
from domain.entities.exact_values import all_made_of_json, as_column, made_of_json
from domain.entities.files.cells import cell_value
from domain.entities.forms import read_changes, read_new
from domain.entities.kinds import Kind
from domain.entities.markers import big, entity, guarded
from domain.entities.query.kinds import read_value
from domain.entities.query.values import NotAValue, read_text, split_list
from domain.entities.registry import build_registry
from domain.entities.transactions.items import read_changed_items, read_ids, read_items
from domain.errors import FieldError, Forbidden, ValidationError
from tests.library import LIBRARY
from tests.twins.everything import DECLARED


@pytest.mark.parametrize("text", ["a\0b", "\0", "\ud800", "a\udfffb", "\0\ud800"])
def test_a_text_that_no_database_can_store_is_refused(text: str) -> None:
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


ROW = "0198c0de-0000-7000-8000-00000000000a"


@entity("things")
class Thing(Struct, rename="camel", kw_only=True):
    whole: int | None = None
    large: Annotated[int | None, big] = None
    ratio: float | None = None
    at: datetime | None = None
    row: UUID | None = None
    rows: list[UUID] | None = None


THINGS = build_registry([Thing])["things"]


@pytest.mark.promise(
    "declarations, values: Whole numbers from −2^63 to 2^63−1 are taken however they are read, and none beyond"
)
@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), -(10**18), 10**18, 0])
def test_a_64_bit_number_is_accepted_from_every_kind_of_input(number: int) -> None:
    for sent in (number, Decimal(number)):
        assert read_new(THINGS, {"large": sent})["large"] == number
        assert read_changes(THINGS, {"large": sent}) == {"large": number}
    assert read_value(THINGS.by_name["large"], str(number)) == number


@pytest.mark.parametrize(("text", "number"), [("5.0", 5), ("-5.00", -5), ("1e3", 1000), ("1.5E1", 15), ("0e999", 0)])
def test_a_number_without_a_fraction_is_whole_however_it_is_written(text: str, number: int) -> None:
    for field in (THINGS.by_name["whole"], THINGS.by_name["large"]):
        assert read_new(THINGS, {field.wire: Decimal(text)})[field.name] == number
        assert read_changes(THINGS, {field.wire: Decimal(text)}) == {field.name: number}
        assert as_column(field, Decimal(text)) == number
        assert cell_value(field, text) == number
        assert "e999" in text or read_value(field, text) == number


WRONG: dict[str, tuple[str, object, str]] = {
    "65 bits": ("large", Decimal(2**63), "expected a whole number <= 9223372036854775807"),
    "65 bits below": ("large", Decimal(-(2**63) - 1), "expected a whole number >= -9223372036854775808"),
    "400 digits": ("large", Decimal("1" * 400), "expected a whole number <= 9223372036854775807"),
    "a million digits": ("whole", Decimal("-" + "1" * 1_000_000), "expected a whole number >= -2147483648"),
    "a fraction": ("large", Decimal("1.5"), "expected a whole number"),
    "a fraction of many digits": ("large", Decimal("5." + "0" * 400 + "1"), "expected a whole number"),
    "a fraction by its exponent": ("large", Decimal("5e-400"), "expected a whole number"),
    "a large exponent": ("large", Decimal("1e999999"), "expected a whole number <= 9223372036854775807"),
    "beyond a float": ("ratio", Decimal("1e400"), "must be a finite number"),
    "beyond a float below": ("ratio", Decimal("-1e400"), "must be a finite number"),
    "infinite": ("ratio", float("inf"), "must be a finite number"),
    "not a number": ("ratio", float("nan"), "must be a finite number"),
    "a float of 400 digits": ("ratio", Decimal("1" * 400), "must be a finite number"),
    "a float of 400 digits, whole": ("ratio", int("1" * 400), "out of range"),
    "too small for a float": ("ratio", Decimal("1e-400"), "must be 0 or have an absolute value of at least 5e-324"),
    "too small for a float below 0": (
        "ratio",
        Decimal("-1e-400"),
        "must be 0 or have an absolute value of at least 5e-324",
    ),
    "nanoseconds": ("at", "2026-11-20T12:00:00.1234567Z", "at most six digits"),
    "nanoseconds that round up": ("at", "2026-11-20T12:00:00.9999999+01:00", "at most six digits"),
    "an id without hyphens": ("row", ROW.replace("-", ""), "such as 0198c0de-"),
    "an id in braces": ("row", f"{{{ROW}}}", "UUID"),
    "an id without hyphens in a list": ("rows", [ROW, ROW.replace("-", "")], "such as 0198c0de-"),
}


@pytest.mark.promise(
    "declarations, values: Floats that are not finite are refused in bodies and filters: 1e400, a whole number of 400 "
    "digits"
)
@pytest.mark.promise(
    "declarations, values: Whole numbers from −2^63 to 2^63−1 are taken however they are read, and none beyond"
)
@pytest.mark.promise(
    "declarations, values: digits of a second beyond the sixth are read where they are zeros, refused where they would "
    "be rounded"
)
@pytest.mark.promise("declarations, values: a UUID has one spelling in body, path, filter and file")
@pytest.mark.parametrize("name", WRONG)
def test_a_value_that_would_be_stored_as_another_is_refused(name: str) -> None:
    field, value, message = WRONG[name]
    for read in (read_new, read_changes):
        with pytest.raises(ValidationError) as caught:
            read(THINGS, {field: value})
        (error,) = caught.value.fields
        assert error.field.partition("[")[0] == field
        assert message in error.message


def test_values_that_are_exact_are_taken() -> None:
    read = read_new(THINGS, {"at": "2026-11-20T12:00:00.123456Z", "row": ROW.upper(), "rows": [ROW], "ratio": 1.5})
    assert (read["row"], read["rows"], read["ratio"]) == (UUID(ROW), [UUID(ROW)], 1.5)


@pytest.mark.promise(
    "declarations, values: Floats that are not finite are refused in bodies and filters: 1e400, a whole number of 400 "
    "digits"
)
@pytest.mark.promise(
    "declarations, values: digits of a second beyond the sixth are read where they are zeros, refused where they would "
    "be rounded"
)
@pytest.mark.promise("declarations, values: a UUID has one spelling in body, path, filter and file")
@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("large", str(2**63)),
        ("ratio", "1e400"),
        ("ratio", "1" * 400),
        ("ratio", "1e-400"),
        ("at", "2026-11-20T12:00:00.1234567Z"),
        ("row", ROW.replace("-", "")),
    ],
)
def test_filters_refuse_the_same(field: str, text: str) -> None:
    with pytest.raises(NotAValue):
        read_value(THINGS.by_name[field], text)


@pytest.mark.parametrize("text", ["1e-400", "-1e-400", "1e400"])
def test_a_cell_that_no_float_holds_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        read_new(THINGS, {"ratio": cell_value(THINGS.by_name["ratio"], text)})


@pytest.mark.parametrize("text", ["0", "-0", "0e-400", "5e-324", "1.5"])
def test_a_cell_that_a_float_holds_is_taken(text: str) -> None:
    assert read_new(THINGS, {"ratio": cell_value(THINGS.by_name["ratio"], text)})["ratio"] == float(text)


def test_a_moment_outside_the_calendar_is_reported_with_other_errors() -> None:
    for moment, fields in (("0001-01-01T00:00:00+14:00", ["whole", "at"]), ("2026-11-20T12:00:00Z", ["whole"])):
        with pytest.raises(ValidationError) as caught:
            read_new(THINGS, {"whole": "x", "at": moment})
        assert [error.field for error in caught.value.fields] == fields


@entity("remarks")
class Remark(Struct, rename="camel", kw_only=True):
    note_text: Annotated[str | None, Meta(max_length=3)] = None
    stars: Annotated[int | None, Meta(ge=1)] = None


def test_rows_of_fields_with_bounds_and_null_inside_of_annotated_are_read() -> None:
    """msgspec does not take such a struct itself."""
    model = build_registry([Remark])["remarks"]
    stored = b'{"id": "%s", "noteText": "abc", "stars": null, "version": 1}' % ROW.encode()
    narrowed = b'{"noteText": "too long by now", "stars": 0}'

    assert made_of_json(model, stored) == Remark(note_text="abc")
    assert made_of_json(model, narrowed) == Remark(note_text="too long by now", stars=0)
    assert all_made_of_json(model, b"[%s, %s]" % (stored, narrowed)) == [
        Remark(note_text="abc"),
        Remark(note_text="too long by now", stars=0),
    ]
    assert all_made_of_json(model, b"[%s]" % stored) == [Remark(note_text="abc")]


VOLUMES = build_registry(LIBRARY)["volumes"]
CLERK = field_access(VOLUMES, ["update:volumes"])

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40) | st.uuids().map(str),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "title", "code", "x"]), inner),
    max_leaves=8,
)
BODIES = st.dictionaries(st.sampled_from(["items", "ids", "x"]), JSON | st.lists(JSON, max_size=4), max_size=2)


def fields(error: pytest.ExceptionInfo[Any]) -> list[str]:
    return [detail.field for detail in error.value.fields]


@given(BODIES)
def test_whatever_is_sent_is_read_or_refused(body: dict[str, object]) -> None:
    for read in (
        lambda: read_items(body, lambda item: read_new_from(VOLUMES, item, CLERK)),
        lambda: read_changed_items(body, lambda item: read_changes_from(VOLUMES, item, CLERK)),
        lambda: read_ids(body),
    ):
        with suppress(ValidationError, Forbidden):
            read()


def test_field_access_follows_the_permissions_of_the_caller() -> None:
    assert (CLERK.unknown, CLERK.closed) == (frozenset({"code"}), frozenset({"cost"}))
    assert field_access(VOLUMES, ["read:codes"]) == FieldAccess(frozenset(), frozenset({"cost"}))
    assert not field_access(VOLUMES, ["*"])
    assert field_access(build_registry(LIBRARY)["shelves"], []) is EVERY_FIELD


def test_a_field_with_both_permissions_can_be_sent_by_a_caller_who_may_write_it() -> None:
    @entity("safes")
    class Safe(Struct):
        code: Annotated[str, guarded(read="read:codes", write="write:codes")] = ""

    safes = build_registry([Safe])["safes"]
    assert field_access(safes, []) == FieldAccess(frozenset({"code"}), frozenset())
    assert field_access(safes, ["read:codes"]) == FieldAccess(frozenset(), frozenset({"code"}))
    for permissions in (["write:codes"], ["read:codes", "write:codes"]):
        assert field_access(safes, permissions) == FieldAccess()


def test_a_hint_never_names_what_does_not_exist() -> None:
    with pytest.raises(ValidationError) as error:
        read_changes_from(VOLUMES, {"codes": "x", "titel": "y", "code": "z"}, CLERK)
    assert error.value.fields == (
        FieldError("codes", "is not known; did you mean 'cost'?"),
        FieldError("titel", "is not known; did you mean 'title'?"),
        FieldError("code", "is not known"),
    )


def test_a_required_field_that_may_not_be_sent_is_forbidden() -> None:
    with pytest.raises(Forbidden):
        read_new_from(VOLUMES, {}, FieldAccess(frozenset({"title"})))
    with pytest.raises(Forbidden):
        read_new_from(VOLUMES, {}, FieldAccess(closed=frozenset({"title"})))
    with pytest.raises(ValidationError) as error:
        read_new_from(VOLUMES, {"condition": "odd"}, FieldAccess(frozenset({"title"})))
    assert fields(error) == ["condition"]
