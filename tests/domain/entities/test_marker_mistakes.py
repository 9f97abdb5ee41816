"""Mistakes in markers and arguments that would be passed over in silence: each is told with the remedy."""

import inspect
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from msgspec import Struct, defstruct, field

from adapters.postgres.schema.parts import BY_TABLE, is_name_of_part
from adapters.postgres.schema.schema import metadata_for
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.markers import (
    entity,
    guarded,
    help_text,
    index,
    label,
    many,
    money,
    ref,
    unique,
    widget,
)
from domain.entities.mistakes.entities import RESERVED_TABLES
from domain.entities.registry import DeclarationError, build_registry
from domain.entities.screens.choices import Choice, choice, choices
from tests.domain.entities.test_declaration_mistakes import declared, mistakes

WRONG_MARKS: dict[str, tuple[Any, str]] = {
    "ref without brackets": (Annotated[UUID, ref], "is marked ref without brackets, which says nothing: write ref(…)"),
    "guarded without brackets": (Annotated[str, guarded], "is marked guarded without brackets"),
    "label without brackets": (Annotated[str, label], "is marked label without brackets"),
    "help_text without brackets": (Annotated[str, help_text], "is marked help_text without brackets"),
    "widget without brackets": (Annotated[str, widget], "is marked widget without brackets"),
    "choices without brackets": (Annotated[Literal["a"], choices], "is marked choices without brackets"),
    "choices of a text": (
        Annotated[str, choices({})],
        "is marked choices(…), which is for a Literal or an Enum of texts",
    ),
    "choices that are not a dict": (Annotated[Literal["a"], choices(["a"])], "which is not a dict of values"),  # type: ignore[arg-type]  # wrong on purpose
    "a choice that is not a value": (Annotated[Literal["a"], choices({"b": choice("B")})], "has choices for 'b'"),
    "a choice that is only a text": (Annotated[Literal["a"], choices({"a": "A"})], "write choice(label, color)"),  # type: ignore[dict-item]  # wrong on purpose
    "an empty label of a choice": (Annotated[Literal["a"], choices({"a": choice(" ")})], "has choice(' ')"),
    "an unknown color of a choice": (
        Annotated[Literal["a"], choices({"a": Choice(color="mauve")})],  # type: ignore[arg-type]  # wrong on purpose
        "has the color 'mauve' of a choice, which is unknown: use one of 'grey'",
    ),
    "money without brackets": (Annotated[int, money], "is marked money without brackets"),
    "a guard of nothing": (Annotated[str, guarded()], "is marked guarded(), which guards nothing"),
    "a guard by no permission": (
        Annotated[str, guarded(read="salaries")],
        "has guarded(read='salaries'), which no role",
    ),
    "a guard by capital letters": (Annotated[str, guarded(write="Update:X")], "has guarded(write='Update:X')"),
    "unique at a field": (
        Annotated[str, unique],
        'which belongs into the decorator: @entity(…, unique=[unique("code")])',
    ),
    "unique of a field at it": (Annotated[str, unique("x")], "is marked unique, which belongs into the decorator"),
    "index at a field": (Annotated[str, index("x")], "is marked index, which belongs into the decorator"),
    "many at a field": (Annotated[str, many("as", by="x")], "is marked many, which belongs into the decorator"),
    "a default with NUL": ((str, "a\0"), "which PostgreSQL cannot store"),
    "a default of half a character": ((str, "\ud800"), "which PostgreSQL cannot store"),
    "a default that is no number": ((float, float("nan")), "which PostgreSQL cannot store"),
    "an endless default": ((float, float("inf")), "which PostgreSQL cannot store"),
    "a list with NUL": ((list[str], field(default_factory=lambda: ["\0"])), "which PostgreSQL cannot store"),
    "a member with NUL": (Literal["a\0"], "is a choice with a value that PostgreSQL cannot store"),
}


@pytest.mark.promise(
    "declarations, checks: a marker without its brackets, or of an entity at a field, a guard by no permission, and "
    "arguments of another type are told"
)
@pytest.mark.parametrize("case", WRONG_MARKS)
def test_a_meaningless_marker_is_reported(case: str) -> None:
    marked, expected = WRONG_MARKS[case]
    (told,) = mistakes(declared({"x": marked}))
    assert told.startswith("A: field 'x' ")
    assert expected in told


def reference(*arguments: Any, **more: Any) -> Any:
    return Annotated[UUID, ref(*arguments, **more)]


def amount(*arguments: Any, **more: Any) -> Any:
    return Annotated[Decimal, money(*arguments, **more)]


def permitted(**names: Any) -> Any:
    return Annotated[str, guarded(**names)]


WRONG_TYPES: tuple[object, ...] = (None, "words", 5, 1.5, True, [], [5], {"a": 5}, b"x", object())
"""Values of which each argument takes a few, and tells the others."""

FIELDS_WITH: dict[str, Callable[[Any], Any]] = {
    "ref(target)": reference,
    "ref(on_delete)": lambda given: reference("as", on_delete=given),
    "ref(relation)": lambda given: reference("as", relation=given),
    "ref(permanent)": lambda given: reference("as", permanent=given),
    "money(precision)": lambda given: amount(given, 2),
    "money(scale)": lambda given: amount(8, given),
    "money(ge)": lambda given: amount(8, 2, ge=given, le=5),
    "money(le)": lambda given: amount(8, 2, ge=0, le=given),
    "guarded(read)": lambda given: permitted(read=given),
    "guarded(write)": lambda given: permitted(write=given, read="read:x"),
    "label": lambda given: Annotated[str, label(given)],
    "help_text": lambda given: Annotated[str, help_text(given)],
    "widget": lambda given: Annotated[str, widget(given)],
    "any mark": lambda given: Annotated[str, given],
}
ARGUMENTS_WITH: dict[str, Callable[[Any], dict[str, Any]]] = {
    **{
        name: (lambda given, name=name: {name: given})  # type: ignore[misc]  # the name of this turn
        for name in inspect.getfullargspec(entity).kwonlyargs
    },
    "unique(field)": lambda given: {"unique": [unique(given)]},
    "unique(ignore_case)": lambda given: {"unique": [unique("x", ignore_case=given)]},
    "index(field)": lambda given: {"indexes": [index(given)]},
    "many(target)": lambda given: {"has_many": {"them": many(given, by="x")}},
    "many(by)": lambda given: {"has_many": {"them": many("as", by=given)}},
    "a relation": lambda given: {"has_many": {"them": given}},
    "a name": lambda given: {"has_many": {given: many("as", by="x")}},
}


def told_of(kind: type[Struct]) -> tuple[str, ...]:
    """Mistakes of a declaration, none where it is right; whatever else is raised fails the test."""
    try:
        build_registry([kind, declared({"x": str}, "B", "bs", search="letters")])
    except DeclarationError as error:
        return error.mistakes
    return ()


@pytest.mark.parametrize("argument", FIELDS_WITH)
def test_a_marker_argument_of_a_wrong_type_is_reported(argument: str) -> None:
    for given in WRONG_TYPES:
        told = told_of(declared({"x_id": FIELDS_WITH[argument](given)}))
        assert "B: search must be a list; got 'letters'" in told
        assert all(mistake.startswith(("A: field 'x_id' ", "A: relation ", "B: ")) for mistake in told), told


@pytest.mark.parametrize("argument", ARGUMENTS_WITH)
def test_a_decorator_argument_of_a_wrong_type_is_reported(argument: str) -> None:
    for given in WRONG_TYPES:
        # A list cannot be the name of a relation, as Python says itself.
        if argument == "a name" and isinstance(given, list | dict):
            continue
        told = told_of(declared({"x": str}, **ARGUMENTS_WITH[argument](given)))
        assert "B: search must be a list; got 'letters'" in told
        assert all(mistake.startswith(("A: ", "B: ")) for mistake in told), told


@pytest.mark.parametrize("plural", [given for given in WRONG_TYPES if given != "words"])
def test_a_path_of_a_wrong_type_is_reported(plural: Any) -> None:
    told = told_of(declared({"x": set[str]}, plural=plural))
    assert told[0] == 'A: entity needs the path first, as in @entity("books")'
    assert [mistake.split(" has ")[0] for mistake in told[1:]] == [
        "A: field 'x'",
        "B: search must be a list; got 'letters'",
    ]


WRONG_ARGUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "a unique that is text": ({"unique": ["x"]}, "unique must be a list of what unique(…) returns; got 'x' in it"),
    "a unique alone": ({"unique": unique("x")}, "unique must be a list; got Unique("),
    "a unique of no name": ({"unique": [unique(5)]}, "unique() accepts names of fields; got 5"),  # type: ignore[arg-type]
    "a unique with and without case": (
        {"unique": [unique("x", ignore_case=None)]},  # type: ignore[arg-type]
        "unique(…, ignore_case=…) must be True or False; got None",
    ),
    "an index that is text": ({"indexes": ["x"]}, "indexes must be a list of what index(…) returns"),
    "a search of letters": ({"search": "name"}, "search must be a list; got 'name'"),
    "a search of numbers": ({"search": ["x", 5]}, "search must be a list of names of fields; got 5 in it"),
    "an iterator": ({"unique": iter([unique("x")])}, "unique must be a list"),
    "columns of letters": ({"columns": "name"}, "columns must be a list; got 'name'"),
    "reads of letters": ({"check_reads": "name"}, "check_reads must be a list; got 'name'"),
    "no order": ({"sort": None}, "sort must be a text; got None"),
    "rows that are nobody's": ({"tenant_owned": None}, "tenant_owned must be True or False; got None"),
    "a title of a number": ({"title": 5}, "title must be a text, or None; got 5"),
    "has_many as a list": ({"has_many": ["bs"]}, "has_many must be a dict by name"),
    "a relation that is text": ({"has_many": {"bs": "as"}}, "has_many accepts what many(…) returns, as in {"),
    "a relation of no field": (
        {"has_many": {"bs": many("as", by=None)}},  # type: ignore[arg-type]
        "got many('as', by=None) for 'bs'",
    ),
}


@pytest.mark.promise(
    "declarations, checks: a marker without its brackets, or of an entity at a field, a guard by no permission, and "
    "arguments of another type are told"
)
@pytest.mark.parametrize("case", WRONG_ARGUMENTS)
def test_an_argument_of_another_type_is_reported(case: str) -> None:
    arguments, expected = WRONG_ARGUMENTS[case]
    (told,) = mistakes(declared({"x": str}, **arguments))
    assert told.startswith("A: ")
    assert expected in told


def test_a_decorator_without_brackets_is_reported() -> None:
    (told,) = mistakes(entity(defstruct("A", [("x", str)])))  # type: ignore[arg-type]
    assert told == 'A: entity needs the path first, as in @entity("books")'


def test_a_wrong_argument_hides_no_other_mistake_and_makes_none() -> None:
    child = declared({"p_id": reference([])}, "C", "cs", sort=None, search=["y"])
    parent = declared({"x": str}, "P", "ps", has_many={"cs": many("cs", by="p_id")}, check_reads=5)
    assert mistakes(parent, child) == (
        "P: check_reads must be a list; got 5",
        "C: sort must be a text; got None",
        "C: field 'p_id' has ref([]): it accepts the path of an entity first, as in ref(\"books\")",
        "C: search names 'y', which is not one of its text fields",
    )


def test_a_bound_of_money_is_a_number_as_it_is_written() -> None:
    assert money(5, 2, ge=0.1).ge == Decimal("0.1")  # type: ignore[arg-type]  # gets past those who check no types
    for bound in ("abc", "nan"):
        (told,) = mistakes(declared({"x": amount(5, 2, ge=bound, le=5)}))
        assert "which is not a number" in told


SAME_NAMES: dict[str, tuple[list[type[Struct]], str, str]] = {
    "with and without case": (
        [declared({"x": str}, unique=[unique("x"), unique("x", ignore_case=True)])],
        "unique('x') of A and unique('x', ignore_case=True) of A",
        "uq_as_x",
    ),
    "one field and two": (
        [declared({"a": str, "b": str, "a_b": str}, unique=[unique("a", "b"), unique("a_b")])],
        "unique('a', 'b') of A and unique('a_b') of A",
        "uq_as_a_b",
    ),
    "two entities": (
        [
            declared({"items_code": str}, "Order", "orders", unique=[unique("items_code")]),
            declared({"code": str}, "OrderItem", "orders-items", unique=[unique("code")]),
        ],
        "unique('items_code') of Order and unique('code') of OrderItem",
        "uq_orders_items_code",
    ),
    "a reference and the order": (
        [declared({"order": Annotated[UUID, ref("as", relation="parent")]})],
        "the reference 'order' of A and the default order of A",
        "ix_as_order",
    ),
    "a reference and a search": (
        [declared({"search": Annotated[UUID, ref("as", relation="parent")], "x": str}, search=["x"])],
        "the reference 'search' of A and search of A",
        "ix_as_search",
    ),
}


@pytest.mark.promise("declarations, checks: Indexes that would have one name are told, also those of two entities")
@pytest.mark.parametrize("case", SAME_NAMES)
def test_indexes_with_the_same_name_are_reported(case: str) -> None:
    kinds, makers, name = SAME_NAMES[case]
    assert any(told.startswith(f"{makers} would have indexes of one name, {name}: ") for told in mistakes(*kinds))


def test_each_table_of_the_service_is_reserved() -> None:
    registry = build_registry(BUILTIN_ENTITIES)
    tables = {name.replace("_", "-") for name in metadata_for(registry).tables}
    assert tables - registry.models.keys() == RESERVED_TABLES - {"alembic-version"}
    with pytest.raises(DeclarationError, match="'factors' is a table of the service itself"):
        build_registry([declared({"x": str}, plural="factors")])


@pytest.mark.parametrize("end", ["202612", "rest", "2026", "resting", "new"])
@pytest.mark.parametrize("table", sorted(BY_TABLE))
def test_the_names_of_parts_of_a_table_are_reserved(table: str, end: str) -> None:
    plural = f"{table}_{end}".replace("_", "-")
    told = told_of(declared({"x": str}, plural=plural))
    is_told = any(f"'{plural}' is a name of a part of the service's table " in mistake for mistake in told)
    assert is_told is is_name_of_part(f"{table}_{end}")
