"""Forms: every invalid field is named at once, and fields that the server owns are ignored."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Meta, Struct, UnsetType

from domain.entities.catalogue import ENTITIES, Status
from domain.entities.forms import money_error, read_changes, read_new
from domain.entities.markers import entity, guarded, money
from domain.entities.registry import build_registry
from domain.errors import ValidationError
from domain.forms import MOST_WITHIN, read_form

PRODUCTS = build_registry(ENTITIES)["products"]
VALID: dict[str, object] = {"name": "Lamp", "sku": "LAMP-1", "price": Decimal("9.90")}


@entity("samples")
class Sample(Struct, rename="camel", kw_only=True):
    size: int = 0
    share: float = 0.0
    is_open: bool = False
    tags: list[str] = []
    wide: Annotated[Decimal, money(38, 10)] = Decimal(0)
    note: Annotated[str | None, Meta(max_length=3), guarded(read="read:notes")] = None


SAMPLES = build_registry([Sample])["samples"]


@entity("amounts")
class Amounts(Struct, rename="camel", kw_only=True):
    plain: Annotated[Decimal, money(6, 2)] = Decimal(0)
    positive: Annotated[Decimal, money(6, 2, ge=0)] = Decimal(0)
    more: Annotated[Decimal, money(6, 2, ge=1)] = Decimal(1)
    little: Annotated[Decimal, money(6, 2, le=50)] = Decimal(0)
    whole: Annotated[Decimal, money(4, 0)] = Decimal(0)
    part: Annotated[Decimal, money(3, 3)] = Decimal(0)


AMOUNTS = build_registry([Amounts])["amounts"]


def errors(body: dict[str, object]) -> dict[str, str]:
    with pytest.raises(ValidationError) as caught:
        read_new(PRODUCTS, VALID | body)
    return {error.field: error.message for error in caught.value.fields}


def test_a_new_row_gets_its_defaults() -> None:
    assert read_new(PRODUCTS, VALID) == {
        "name": "Lamp",
        "sku": "LAMP-1",
        "description": None,
        "price": Decimal("9.90"),
        "stock": 0,
        "status": Status.DRAFT,
        "category_id": None,
        "released_at": None,
        "photo_id": None,
    }


def test_changes_contain_only_sent_fields_including_null() -> None:
    assert read_changes(PRODUCTS, {"stock": 3, "categoryId": None}) == {"stock": 3, "category_id": None}
    assert read_changes(PRODUCTS, {}) == {}


def test_a_required_field_cannot_be_changed_to_null() -> None:
    with pytest.raises(ValidationError) as caught:
        read_changes(PRODUCTS, {"name": None, "price": None, "stock": None})
    assert {error.field for error in caught.value.fields} == {"name", "price", "stock"}


@pytest.mark.promise("entities, details: VALIDATION_ERROR: all failing fields at once")
def test_every_failing_field_is_named_at_once() -> None:
    with pytest.raises(ValidationError) as caught:
        read_new(PRODUCTS, {"name": "", "price": Decimal(-1), "stock": "many", "status": "gone", "categoryId": "x"})
    named = [error.field for error in caught.value.fields]
    assert sorted(named) == ["categoryId", "name", "price", "sku", "status", "stock"]


def test_a_missing_field_is_required() -> None:
    with pytest.raises(ValidationError) as caught:
        read_new(PRODUCTS, {})
    assert {(error.field, error.message) for error in caught.value.fields} == {
        (name, "is required") for name in ("name", "sku", "price")
    }


@pytest.mark.parametrize(("name", "near"), [("nmae", "name"), ("Name", "name"), ("category_id", "categoryId")])
def test_an_unknown_field_is_refused_with_the_nearest_name(name: str, near: str) -> None:
    assert near in errors({name: "x"})[name]


def test_an_unknown_field_without_a_neighbour_is_refused_too() -> None:
    assert errors({"zzzzzz": 1}) == {"zzzzzz": "is not known"}


@pytest.mark.parametrize(
    "name",
    [
        "id",
        "tenantId",
        "createdAt",
        "updatedAt",
        "createdBy",
        "updatedBy",
        "isDeleted",
        "deletedAt",
        "deletedBy",
        "version",
        "category",
        "reviews",
    ],
)
def test_what_the_server_owns_is_ignored(name: str) -> None:
    assert read_new(PRODUCTS, VALID | {name: "anything"}) == read_new(PRODUCTS, VALID)
    assert read_changes(PRODUCTS, {name: "anything"}) == {}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sku", "LAMP-1\n"),
        ("sku", "\nLAMP-1"),
        ("sku", "lamp-1"),
        ("sku", "AB"),
        ("sku", "A" * 33),
        ("name", ""),
        ("name", "x" * 201),
        ("name", 5),
        ("name", None),
        ("stock", -1),
        ("stock", 2**31),
        ("stock", 1.5),
        ("stock", True),
        ("stock", "1"),
        ("status", "LIVE"),
        ("status", None),
        ("categoryId", "not-an-id"),
        ("releasedAt", "2026-11-20T12:00:00"),
        ("releasedAt", "2026-11-20"),
        ("releasedAt", "0001-01-01T00:00:00+14:00"),
        ("releasedAt", "9999-12-31T23:59:59-14:00"),
        ("releasedAt", 5),
        ("description", "x" * 10_001),
        ("price", "1.234"),
        ("price", "NaN"),
        ("price", "many"),
        ("price", True),
        ("price", []),
    ],
)
def test_a_wrong_value_names_its_field_once(field: str, value: object) -> None:
    with pytest.raises(ValidationError) as caught:
        read_new(PRODUCTS, VALID | {field: value})
    (error,) = caught.value.fields
    assert error.field == field
    assert "\\Z" not in error.message
    assert "`" not in error.message


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("price", "9.9", Decimal("9.9")),
        ("price", 3, Decimal(3)),
        ("price", Decimal("0.10"), Decimal("0.10")),
        ("price", "9999999999.99", Decimal("9999999999.99")),
        ("stock", 2**31 - 1, 2**31 - 1),
        ("status", "live", Status.LIVE),
        ("name", "  untrimmed  ", "  untrimmed  "),
        ("categoryId", str(UUID(int=5)), UUID(int=5)),
        ("releasedAt", "2026-11-20T12:00:00Z", datetime(2026, 11, 20, 12, tzinfo=UTC)),
        ("releasedAt", "2026-11-20T14:00:00+02:00", datetime(2026, 11, 20, 12, tzinfo=UTC)),
    ],
)
def test_a_valid_value_is_read_unchanged(field: str, value: object, expected: object) -> None:
    name = PRODUCTS.by_wire[field.lower()].name
    assert read_new(PRODUCTS, VALID | {field: value})[name] == expected


@pytest.mark.promise("entities, details: Decimals travel with their scale and are never rounded")
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("1.234", "2 digits after"),
        (1.234, "2 digits after"),
        (Decimal("1E-999999"), "2 digits after"),
        ("10000000000", "10 digits before"),
        ("1E+999999", "10 digits before"),
        ("-0.01", "at least 0"),
        ("100.01", "at most 100"),
        ("NaN", "finite"),
        ("sNaN", "finite"),
        ("-Infinity", "finite"),
        (float("inf"), "finite"),
        ("1_0", "plain digits"),
        ("0e999999", "plain digits"),
        (Decimal("0E-20000"), "plain digits"),
        (f"0.{'0' * 20_000}", "plain digits"),
        (f"1.{'0' * 1_001}", "plain digits"),
        (" 1 ", "plain digits"),
        ("\u0661", "plain digits"),
    ],
)
def test_money_that_does_not_fit(value: Any, reason: str) -> None:
    bounds = money(12, 2, ge=0, le=100 if reason.startswith("at most") else None)
    sentence = money_error(bounds, value)
    assert sentence is not None
    assert reason in sentence


@pytest.mark.parametrize(
    "value", ["0", "-0", "1.20", "1.2000", "1e3", ".5", 7, 1.5, Decimal("1E+5"), "0E-50", f"1.{'0' * 1_000}"]
)
def test_money_that_fits(value: object) -> None:
    assert money_error(money(12, 2, ge=0), value) is None


@pytest.mark.parametrize("value", ["", "x", None, True, [], {}])
def test_an_amount_that_is_not_a_number_is_left_to_the_type_check(value: object) -> None:
    assert money_error(money(12, 2), value) is None


def test_decimals_wider_than_pythons_own_precision_are_checked_exactly() -> None:
    whole = Decimal("1234567890123456789012345678.0123456789")
    assert read_new(SAMPLES, {"wide": whole})["wide"] == whole
    assert money_error(money(38, 10), str(whole) + "1") is not None


def test_defaults_that_can_change_are_not_shared() -> None:
    first = read_new(SAMPLES, {})["tags"]
    assert isinstance(first, list)
    first.append("x")
    assert read_new(SAMPLES, {})["tags"] == []


def test_an_error_inside_a_list_names_the_item() -> None:
    with pytest.raises(ValidationError) as caught:
        read_new(SAMPLES, {"tags": ["a", 1]})
    assert [error.field for error in caught.value.fields] == ["tags[1]"]


def test_a_constraint_applies_to_a_nullable_field() -> None:
    assert read_new(SAMPLES, {"note": None})["note"] is None
    with pytest.raises(ValidationError):
        read_new(SAMPLES, {"note": "long"})


class Form(Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    full_name: str
    age: int = 0


def test_a_form_of_a_use_case_is_read_alike() -> None:
    assert read_form(Form, {"fullName": "Ada"}) == Form(full_name="Ada")
    with pytest.raises(ValidationError) as caught:
        read_form(Form, {"fullname": 1, "age": "x"})
    assert {error.field for error in caught.value.fields} == {"fullName", "age", "fullname"}


class Item(Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    color: Literal["red", "green"]
    sizes: tuple[Literal["small", "large"], ...] = ()


class Order(Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    first: Item | None | UnsetType = UNSET
    items: list[Item] = []


def test_every_error_inside_an_object_or_a_list_is_named_with_its_place() -> None:
    body = {
        "first": {"color": "blue", "sizes": ["small", "huge"], "colour": 1},
        "items": [{"color": "red"}, {}, {"color": 1}, 5],
    }
    with pytest.raises(ValidationError) as caught:
        read_form(Order, body)
    assert {error.field: error.message for error in caught.value.fields} == {
        "first.color": "must be one of: red, green",
        "first.sizes[1]": "must be one of: small, large",
        "first.colour": "is not known; did you mean 'color'?",
        "items[1].color": "is required",
        "items[2].color": "expected text, got a whole number",
        "items[3]": "expected an object, got a whole number",
    }


def test_a_body_of_wrong_items_makes_no_far_larger_answer() -> None:
    with pytest.raises(ValidationError) as caught:
        read_form(Order, {"items": [{}] * 5_000})
    assert len(caught.value.fields) == MOST_WITHIN


NUMBERS = st.decimals(allow_nan=False, allow_infinity=False)  # JSON has no others
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBERS | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
WIRES = st.sampled_from([field.wire for field in (*PRODUCTS.fields, *SAMPLES.fields)]) | st.text(max_size=8)


@given(st.dictionaries(WIRES, JSON, max_size=8))
def test_a_body_is_read_or_refused_and_nothing_else(body: dict[str, object]) -> None:
    for model in (PRODUCTS, SAMPLES):
        for read in (read_new, read_changes):
            try:
                values = read(model, body)
            except ValidationError:
                continue
            assert values.keys() <= model.by_name.keys()


@given(st.from_regex(r"[+-]?[0-9]{0,6}(\.[0-9]{0,4})?([eE][+-]?[0-9])?|[\u0660-\u0669]{2}|NaN", fullmatch=True))
def test_an_amount_as_text_is_judged_by_all_that_its_field_says(text: str) -> None:
    for field in AMOUNTS.declared:
        assert field.money is not None
        wrong = money_error(field.money, text)
        try:
            assert read_new(AMOUNTS, {field.wire: text})[field.name] == Decimal(text)
            assert wrong is None
        except ValidationError as error:
            said = [found.message for found in error.fields]
            assert wrong in said if wrong is not None else said
