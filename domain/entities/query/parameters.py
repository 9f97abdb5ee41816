"""Parameters of an entity's list, read and export with their JSON schemas, for the OpenAPI document."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from domain.entities.declaration import EntityModel, FieldModel, Kind, Registry
from domain.entities.query.operators import BOUNDS, OPERATORS, PARTS, Bound
from domain.entities.query.query import Count, Hidden, Operator, searched
from domain.entities.query.read_query import DEFAULT_PAGE_SIZE, HISTORY, MAX_PAGE_SIZE, ORDERING, PAGING, VIEWING
from domain.entities.query.vocabulary import SHORT_NAMES, Vocabulary

Schema = Mapping[str, object]


class QueryParameter(Struct, frozen=True):
    """A query parameter as the OpenAPI document describes it."""

    name: str
    schema: Schema
    description: str


_TEXT: Schema = {"type": "string"}
_BOOLEAN: Schema = {"type": "boolean"}
_TYPES: Mapping[Kind, Schema] = {
    Kind.TEXT: _TEXT,
    Kind.INTEGER: {"type": "integer", "format": "int32"},
    Kind.BIG_INTEGER: {"type": "integer", "format": "int64"},
    Kind.DECIMAL: {"type": "number"},
    Kind.FLOAT: {"type": "number", "format": "double"},
    Kind.BOOLEAN: _BOOLEAN,
    Kind.TIMESTAMP: {"type": "string", "format": "date-time"},
    Kind.DATE: {"type": "string", "format": "date"},
    Kind.UUID: {"type": "string", "format": "uuid"},
    Kind.CHOICE: _TEXT,
    Kind.UUIDS: _TEXT,
    Kind.TEXTS: _TEXT,
}
_MEANINGS: Mapping[Operator, str] = {
    Operator.EQ: "is exactly this value; a comma is part of it",
    Operator.NE: "is another value than this, and not null",
    Operator.GT: "is larger than this",
    Operator.GTE: "is this or larger",
    Operator.LT: "is smaller than this",
    Operator.LTE: "is this or smaller",
    Operator.IN: "is one of these values, between commas",
    Operator.CONTAINS: "contains this text, without regard to case",
    Operator.STARTS_WITH: "starts with this text, without regard to case",
    Operator.ENDS_WITH: "ends with this text, without regard to case",
    Operator.IS_NULL: "is null, or is not",
}
_DIRECTION: Schema = {"type": "string", "enum": ["Ascending", "Descending", "asc", "desc"]}
_SETTINGS: Mapping[str, tuple[Schema, str]] = {
    "page": ({"type": "integer", "minimum": 1, "default": 1}, "The page, counted from 1."),
    "pageSize": (
        {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE, "default": DEFAULT_PAGE_SIZE},
        f"Rows on a page; more than {MAX_PAGE_SIZE} means {MAX_PAGE_SIZE}.",
    ),
    "count": (
        {"type": "string", "enum": [count.value for count in Count], "default": Count.EXACT.value},
        "How totalCount is found: exactly, by the planner's estimate, or not at all.",
    ),
    "cursor": (_TEXT, "The nextCursor of the page before; takes the place of page."),
    "search": (_TEXT, "Words that must all occur, without regard to case, in one of: {search}."),
    "sort": (
        _TEXT,
        "Properties between commas, each with :asc or :desc, also of to-one relations: category.name:desc.",
    ),
    "sortBy": (_TEXT, "One property to sort by; its direction is Descending unless it is said."),
    "sortDirection": (_DIRECTION, "The direction of sortBy, or of the default order."),
    "sortOrder": (_DIRECTION, "Another name of sortDirection."),
    "include": (_TEXT, "Relations to load, between commas, up to three deep: {relations}."),
    "fields": (_TEXT, "Properties to answer with, between commas; the id always comes along."),
    "includeDeleted": ({"type": "boolean", "default": False}, "Whether rows marked deleted are meant too."),
}


def parameters_of(model: EntityModel, registry: Registry, hidden: Hidden) -> list[QueryParameter]:
    """Parameters of a list: paging, order and view, filters on own fields, and filters by equality on related rows."""
    # Every operator works on related rows too, three relations deep: far too many to list them all.
    vocabulary = Vocabulary(registry, model, hidden)
    return [*settings_of(vocabulary, (*PAGING, *ORDERING, *VIEWING)), *_filters(vocabulary), *_related(vocabulary)]


def view_parameters_of(model: EntityModel, registry: Registry, hidden: Hidden) -> list[QueryParameter]:
    """Parameters of a read by id."""
    return list(settings_of(Vocabulary(registry, model, hidden), VIEWING))


def history_parameters_of(model: EntityModel, registry: Registry, hidden: Hidden) -> list[QueryParameter]:
    """Parameters of the history of a row."""
    return list(settings_of(Vocabulary(registry, model, hidden), HISTORY))


def export_parameters_of(model: EntityModel, registry: Registry, hidden: Hidden) -> list[QueryParameter]:
    """Parameters of an export, except for its format."""
    vocabulary = Vocabulary(registry, model, hidden)
    return [*settings_of(vocabulary, (*ORDERING, *VIEWING)), *_filters(vocabulary), *_related(vocabulary)]


def settings_of(vocabulary: Vocabulary, names: tuple[str, ...]) -> Iterator[QueryParameter]:
    """Parameters called ``names`` that the entity accepts: without search fields there is no ``search``."""
    model = vocabulary.model
    search = ", ".join(model.by_name[name].wire for name in searched(model, vocabulary.hidden))
    relations = ", ".join(vocabulary.relation_names(model))
    accepted = {"search": bool(search), "include": bool(relations), "includeDeleted": "is_deleted" in model.by_name}
    for name in names:
        if accepted.get(name, True):
            schema, description = _SETTINGS[name]
            yield QueryParameter(
                name, schema, description.replace("{search}", search).replace("{relations}", relations)
            )


def _filters(vocabulary: Vocabulary) -> Iterator[QueryParameter]:
    for field in vocabulary.visible(vocabulary.model):
        if Operator.EQ in OPERATORS[field.kind]:
            yield QueryParameter(field.wire, _TEXT, f"`{field.wire}` is this value, or one of several between commas.")
        for operator in OPERATORS[field.kind]:
            meaning = f"`{field.wire}` {_MEANINGS[operator]}."
            yield QueryParameter(f"{field.wire}.{operator.value}", _schema(field, operator), meaning)
        for bound in BOUNDS:
            if field.kind in bound.kinds:
                meaning = f"`{field.wire}` {_MEANINGS[bound.operator]}."
                name = _name(vocabulary.model, field, bound)
                yield QueryParameter(name, _schema(field, bound.operator), meaning)


def _name(model: EntityModel, field: FieldModel, bound: Bound) -> str:
    # The specification spells ``createdAfter``; a declared property called ``created`` keeps the name for itself.
    short = field.wire.removesuffix("At")
    is_short = bound.suffix and field.server_owned and short in SHORT_NAMES and short not in model.by_wire
    return bound.name(short if is_short else field.wire)


def _related(vocabulary: Vocabulary) -> Iterator[QueryParameter]:
    model = vocabulary.model
    for name in vocabulary.relation_names(model):
        for field in vocabulary.visible(vocabulary.registry.target(model.relations[name])):
            if Operator.EQ in OPERATORS[field.kind]:
                whose = f"`{field.wire}` of {'some row' if model.relations[name].is_many else 'the row'} of `{name}`"
                yield QueryParameter(
                    f"{name}.{field.wire}", _TEXT, f"{whose} is this value, or one of several between commas."
                )


def _schema(field: FieldModel, operator: Operator) -> Schema:
    if operator is Operator.IS_NULL:
        return _BOOLEAN
    if operator is Operator.IN or operator in PARTS:
        return _TEXT
    return {"type": "string", "enum": list(field.choices)} if field.kind is Kind.CHOICE else _TYPES[field.kind]
