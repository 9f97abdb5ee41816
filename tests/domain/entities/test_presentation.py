"""How screens show an entity whose declaration says nothing, and what rules a field has as data."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

import pytest
from msgspec import Meta, Struct
from sqlalchemy import Column, Index

from adapters.postgres.schema.schema import metadata_for
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.declaration import EntityModel
from domain.entities.markers import big, entity, help_text, label, money, ref, unique, widget
from domain.entities.query.kinds import leads_an_index
from domain.entities.registry import build_registry
from domain.entities.screens.choices import choice, choices, shown_choices
from domain.entities.screens.field_rules import rules_of
from domain.entities.screens.presentation import (
    columns_of,
    display_of,
    entity_title,
    field_title,
    widget_of,
)
from tests.library import LIBRARY


@entity("price-lists", unique=[unique("code"), unique("name", "note")])
class PriceList(Struct, rename="camel", kw_only=True):
    name: str
    note: Annotated[str, Meta(max_length=2_000)]
    code: Annotated[str, Meta(pattern="^[A-Z]{3}$"), label("Short code"), help_text("Three letters.")]
    parent_id: Annotated[UUID | None, ref("price-lists")] = None
    released_at: datetime | None = None
    size: Annotated[int, Meta(ge=1)] = 1
    views: Annotated[int, big] = 0
    price: Annotated[Decimal, money(12, 2, ge=0, le="99.5")] = Decimal(0)
    ratio: Annotated[float | None, Meta(gt=0, lt=1)] = None
    kind: Literal["a", "b"] = "a"
    site: Annotated[str | None, Meta(max_length=2_000), widget("url")] = None


@pytest.fixture(scope="module")
def model() -> EntityModel:
    return build_registry([PriceList])["price-lists"]


@pytest.mark.promise(
    "entities, details: names on screens follow from the declaration, and mistakes in them stop the start"
)
def test_titles_are_the_words_of_the_names(model: EntityModel) -> None:
    assert entity_title(model) == "Price lists"
    titles = {name: field_title(model.by_name[name]) for name in ("released_at", "parent_id", "code", "created_at")}
    assert titles == {
        "released_at": "Released at",
        "parent_id": "Parent",
        "code": "Short code",
        "created_at": "Created at",
    }


def test_a_row_is_named_by_its_first_unique_text_or_its_first_text(model: EntityModel) -> None:
    named = [display_of(model, visible) for visible in (model.fields, model.fields[:3], model.fields[:1])]
    assert [field and field.name for field in named] == ["code", "name", None]


@pytest.mark.promise(
    "entities, details: names on screens follow from the declaration, and mistakes in them stop the start"
)
def test_columns_are_the_first_six_fields_that_are_not_long(model: EntityModel) -> None:
    names = [field.name for field in columns_of(model, model.fields)]
    assert names == ["name", "code", "parent_id", "released_at", "size", "views"]


def test_a_long_text_is_shown_as_multiline_except_special_texts(model: EntityModel) -> None:
    assert {name: widget_of(model.by_name[name]) for name in ("name", "note", "site")} == {
        "name": None,
        "note": "multiline",
        "site": "url",
    }


@pytest.mark.promise("entities, details: Rules of fields are those that bodies are checked against")
def test_rules_are_those_that_bodies_are_checked_against(model: EntityModel) -> None:
    assert {name: rules_of(model.by_name[name]) for name in ("code", "size", "views", "price", "ratio", "kind")} == {
        "code": {"pattern": "^[A-Z]{3}$"},
        "size": {"minimum": 1, "maximum": 2**31 - 1},
        "views": {"minimum": -(2**63), "maximum": 2**63 - 1},
        "price": {"precision": 12, "scale": 2, "minimum": 0, "maximum": 99.5},
        "ratio": {"exclusive_minimum": 0, "exclusive_maximum": 1},
        "kind": {"choices": ["a", "b"]},
    }
    assert rules_of(model.by_name["note"]) == {"max_length": 2_000}
    assert model.by_name["code"].help_text == "Three letters."


@pytest.mark.promise("entities, details: indexed is true where an index of the table begins with the field")
@pytest.mark.parametrize("entities", [[*BUILTIN_ENTITIES, *ENTITIES], [*LIBRARY]], ids=["catalogue", "library"])
def test_a_field_is_indexed_where_an_index_of_its_table_begins_with_it(entities: list[type[Struct]]) -> None:
    registry = build_registry(entities)
    tables = metadata_for(registry).tables
    for described in registry.stored:
        leading = {"id"} | {_first_column(index) for index in tables[described.table].indexes}
        said = {field.name for field in described.fields if leads_an_index(described, field)}
        assert said == leading & described.by_name.keys(), described.plural


def _first_column(index: Index) -> str:
    """The column that an index begins with behind the tenant: ``price`` for its copy ``price$e2``."""
    names = [column.name for column in index.expressions if isinstance(column, Column)]
    return next((name for name in names if name != "tenant_id"), "").partition("$")[0]


@entity("tickets")
class Ticket(Struct, kw_only=True):
    state: Annotated[
        Literal["in_progress", "done", "waitingForParts", "SOLD", "x"],
        choices({"done": choice("Finished"), "x": choice(color="pink")}),
    ] = "x"
    size: Literal["pending", "urgent", "draft"] = "draft"


@pytest.mark.promise(
    "entities, details: names on screens follow from the declaration, and mistakes in them stop the start"
)
def test_choices_have_labels_and_colours_declared_or_derived() -> None:
    model = build_registry([Ticket])["tickets"]
    shown = {
        name: shown_choices(model.by_name[name].choices, model.by_name[name].choice_looks) for name in ("state", "size")
    }
    assert shown == {
        "state": [
            ("in_progress", "In progress", "blue"),
            ("done", "Finished", "green"),
            ("waitingForParts", "Waiting for parts", "teal"),
            ("SOLD", "SOLD", "pink"),
            ("x", "X", "pink"),
        ],
        "size": [("pending", "Pending", "yellow"), ("urgent", "Urgent", "red"), ("draft", "Draft", "grey")],
    }
