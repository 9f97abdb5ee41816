"""Mistakes in markers and arguments that would be passed over in silence: each is told with the remedy."""

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from msgspec import Struct, defstruct, field

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
from domain.entities.mistakes.entities import RESERVED_PATHS, RESERVED_TABLES
from domain.entities.registry import DeclarationError, build_registry
from tests.domain.entities.test_declaration_mistakes import declared, mistakes

WRONG_MARKS: dict[str, tuple[Any, str]] = {
    "ref without brackets": (Annotated[UUID, ref], "is marked ref without brackets, which says nothing: write ref(…)"),
    "guarded without brackets": (Annotated[str, guarded], "is marked guarded without brackets"),
    "label without brackets": (Annotated[str, label], "is marked label without brackets"),
    "help_text without brackets": (Annotated[str, help_text], "is marked help_text without brackets"),
    "widget without brackets": (Annotated[str, widget], "is marked widget without brackets"),
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


@pytest.mark.parametrize("case", WRONG_MARKS)
def test_a_mark_that_says_nothing_is_told(case: str) -> None:
    marked, expected = WRONG_MARKS[case]
    (told,) = mistakes(declared({"x": marked}))
    assert told.startswith("A: field 'x' ")
    assert expected in told


WRONG_ARGUMENTS: dict[str, tuple[Callable[[], object], str]] = {
    "a decorator without arguments": (lambda: entity(defstruct("A", ["x"])), "entity takes the path first"),  # type: ignore[arg-type]
    "a unique that is text": (lambda: entity("as", unique=["x"]), "a list of what unique(…) returns, and got 'x'"),  # type: ignore[list-item]
    "a unique alone": (lambda: entity("as", unique=unique("x")), "unique takes a list"),  # type: ignore[arg-type]
    "an index that is text": (lambda: entity("as", indexes=["x"]), "a list of what index(…) returns"),  # type: ignore[list-item]
    "a search of letters": (lambda: entity("as", search="name"), "search takes a list, and got 'name'"),
    "an iterator": (lambda: entity("as", unique=iter([unique("x")])), "unique takes a list"),  # type: ignore[arg-type]
    "columns of letters": (lambda: entity("as", columns="name"), "columns takes a list, and got 'name'"),
    "reads of letters": (lambda: entity("as", check_reads="name"), "check_reads takes a list, and got 'name'"),
    "has_many as a list": (lambda: entity("as", has_many=["bs"]), "has_many takes a dict by name"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", WRONG_ARGUMENTS)
def test_an_argument_of_another_type_is_told(case: str) -> None:
    declare, expected = WRONG_ARGUMENTS[case]
    with pytest.raises(TypeError) as caught:
        declare()
    assert expected in str(caught.value)


def test_a_bound_of_money_is_a_number_as_it_is_written() -> None:
    assert money(5, 2, ge=0.1).ge == Decimal("0.1")  # type: ignore[arg-type]  # gets past those who check no types
    with pytest.raises(ValueError, match="the bound is no number"):
        money(5, 2, ge="abc")


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


@pytest.mark.parametrize("case", SAME_NAMES)
def test_indexes_of_one_name_are_told(case: str) -> None:
    kinds, makers, name = SAME_NAMES[case]
    assert any(told.startswith(f"{makers} would have indexes of one name, {name}: ") for told in mistakes(*kinds))


def test_each_table_of_the_service_is_reserved() -> None:
    registry = build_registry(BUILTIN_ENTITIES)
    tables = {name.replace("_", "-") for name in metadata_for(registry).tables}
    assert tables - RESERVED_TABLES - RESERVED_PATHS - registry.models.keys() == set()
    with pytest.raises(DeclarationError, match="'factors' is a table of the service itself"):
        build_registry([declared({"x": str}, plural="factors")])
