"""Every parameter that an entity's list, read and export take, with its JSON schema, for its description."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from domain.entities.declaration import EntityModel, FieldModel, Kind, Registry
from domain.entities.query.operators import BOUNDS, OPERATORS, PARTS, Bound
from domain.entities.query.query import Count, Hidden, Operator, searched
from domain.entities.query.read_query import DEFAULT_PAGE_SIZE, HISTORY, MAX_PAGE_SIZE, ORDERING, PAGING, VIEWING
from domain.entities.query.vocabulary import SHORT_NAMES, Vocabulary

Schema = Mapping[str, object]


class QueryParameter(Struct, frozen=True):
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
        {"type": "string", "enum": [one.value for one in Count], "default": Count.EXACT.value},
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
    """Of a list: its settings, its own properties with all their operators, and those of related rows by equality.

    Every operator works by way of relations as well, up to three of them.
    """
    vocabulary = Vocabulary(registry, model, hidden)
    return [*settings_of(vocabulary, (*PAGING, *ORDERING, *VIEWING)), *_filters(vocabulary), *_related(vocabulary)]


def view_parameters_of(model: EntityModel, registry: Registry, hidden: Hidden) -> list[QueryParameter]:
    """Of a read by id."""
    return list(settings_of(Vocabulary(registry, model, hidden), VIEWING))


def history_parameters_of(model: EntityModel, registry: Registry, hidden: Hidden) -> list[QueryParameter]:
    """Of the history of a row."""
    return list(settings_of(Vocabulary(registry, model, hidden), HISTORY))


def export_parameters_of(model: EntityModel, registry: Registry, hidden: Hidden) -> list[QueryParameter]:
    """Of an export, its format aside."""
    vocabulary = Vocabulary(registry, model, hidden)
    return [*settings_of(vocabulary, (*ORDERING, *VIEWING)), *_filters(vocabulary), *_related(vocabulary)]


def settings_of(vocabulary: Vocabulary, names: tuple[str, ...]) -> Iterator[QueryParameter]:
    """What this entity has no use for is left out: it would be refused."""
    model = vocabulary.model
    search = ", ".join(model.by_name[name].wire for name in searched(model, vocabulary.hidden))
    relations = ", ".join(vocabulary.relation_names(model))
    taken = {"search": bool(search), "include": bool(relations), "includeDeleted": "is_deleted" in model.by_name}
    for name in names:
        if taken.get(name, True):
            schema, description = _SETTINGS[name]
            yield QueryParameter(
                name, schema, description.replace("{search}", search).replace("{relations}", relations)
            )


def _filters(vocabulary: Vocabulary) -> Iterator[QueryParameter]:
    for one in vocabulary.seen(vocabulary.model):
        if Operator.EQ in OPERATORS[one.kind]:
            yield QueryParameter(one.wire, _TEXT, f"`{one.wire}` is this value, or one of several between commas.")
        for operator in OPERATORS[one.kind]:
            meaning = f"`{one.wire}` {_MEANINGS[operator]}."
            yield QueryParameter(f"{one.wire}.{operator.value}", _schema(one, operator), meaning)
        for bound in BOUNDS:
            if one.kind in bound.kinds:
                meaning = f"`{one.wire}` {_MEANINGS[bound.operator]}."
                name = _name(vocabulary.model, one, bound)
                yield QueryParameter(name, _schema(one, bound.operator), meaning)


def _name(model: EntityModel, one: FieldModel, bound: Bound) -> str:
    """As the specification spells it: ``createdAfter``, unless a property is really called ``created``."""
    short = one.wire.removesuffix("At")
    is_short = bound.suffix and one.server_owned and short in SHORT_NAMES and short not in model.by_wire
    return bound.name(short if is_short else one.wire)


def _related(vocabulary: Vocabulary) -> Iterator[QueryParameter]:
    model = vocabulary.model
    for name in vocabulary.relation_names(model):
        for one in vocabulary.seen(vocabulary.registry.target(model.relations[name])):
            if Operator.EQ in OPERATORS[one.kind]:
                whose = f"`{one.wire}` of {'some row' if model.relations[name].is_many else 'the row'} of `{name}`"
                yield QueryParameter(
                    f"{name}.{one.wire}", _TEXT, f"{whose} is this value, or one of several between commas."
                )


def _schema(one: FieldModel, operator: Operator) -> Schema:
    if operator is Operator.IS_NULL:
        return _BOOLEAN
    if operator is Operator.IN or operator in PARTS:
        return _TEXT
    return {"type": "string", "enum": list(one.choices)} if one.kind is Kind.CHOICE else _TYPES[one.kind]
