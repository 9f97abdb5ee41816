"""Parameters of an entity's list, read and export with JSON schemas, for the OpenAPI document."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from domain.entities.declaration import EntityModel, Hidden, Registry
from domain.entities.kinds import Kind
from domain.entities.query.kinds import QUERY_KINDS, Bound, QueryKind
from domain.entities.query.query import MOST_COUNTED, Count, Operator, searched
from domain.entities.query.read_query import DEFAULT_PAGE_SIZE, HISTORY, MAX_PAGE_SIZE, ORDERING, PAGING, VIEWING
from domain.entities.query.read_summary import SUMMARY
from domain.entities.query.summary import DEFAULT_GROUPS, MAX_GROUPED, MAX_GROUPS, MAX_MEASURES, Unit
from domain.entities.query.vocabulary import Vocabulary

Schema = Mapping[str, object]


class QueryParameter(Struct, frozen=True):
    """A query parameter in the OpenAPI document."""

    name: str
    schema: Schema
    description: str


_TEXT: Schema = {"type": "string"}
_MEANINGS: Mapping[Operator, str] = {
    Operator.EQ: "is exactly this value; a comma is part of it",
    Operator.NE: "is another value than this, and not null",
    Operator.GT: "is larger than this",
    Operator.GTE: "is this or larger",
    Operator.LT: "is smaller than this",
    Operator.LTE: "is this or smaller",
    Operator.IN: "is one of these values, between commas",
    Operator.ALL: "has all of these links, between commas",
    Operator.CONTAINS: "contains this text, without regard to case",
    Operator.STARTS_WITH: "starts with this text, without regard to case",
    Operator.ENDS_WITH: "ends with this text, without regard to case",
    Operator.IS_NULL: "is null, or is not",
}
_DIRECTION: Schema = {"type": "string", "enum": ["Ascending", "Descending", "asc", "desc"]}
_SETTINGS: Mapping[str, tuple[Schema, str]] = {
    # Declare no default: generated clients would send it, and the service refuses page together with cursor.
    "page": ({"type": "integer", "minimum": 1}, "The page, counted from 1, which it is without it."),
    "pageSize": (
        {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE, "default": DEFAULT_PAGE_SIZE},
        f"Rows on a page; more than {MAX_PAGE_SIZE} means {MAX_PAGE_SIZE}.",
    ),
    "count": (
        {"type": "string", "enum": [count.value for count in Count], "default": Count.EXACT.value},
        f"How totalCount is found: exactly, counted up to {MOST_COUNTED:,} and an estimate beyond, or not at all.",
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

_UNITS = ", ".join(f"`:{unit.value}`" for unit in Unit)
_GROUPED = f"""At most {MAX_GROUPED} properties between commas, also of to-one relations. A timestamp needs a unit, \
and a date accepts one: {_UNITS}; a week begins on Monday. Without this parameter all rows are one group."""
_MEASURED = f"""At most {MAX_MEASURES} between commas: `count`, and `sum`, `avg`, `min`, `max` or `distinct` of a \
property, such as `sum:price`."""
_LIMIT: Schema = {"type": "integer", "minimum": 1, "maximum": MAX_GROUPS, "default": DEFAULT_GROUPS}
_OF_SUMMARIES: Mapping[str, tuple[Schema, str]] = {
    "group": (_TEXT, _GROUPED),
    "measures": ({"type": "string", "default": "count"}, _MEASURED),
    "sort": (_TEXT, "Groups and measures between commas, each with `:asc` or `:desc`: `count:desc`."),
    "limit": (_LIMIT, "Maximum number of groups."),
}


def parameters_of(model: EntityModel, registry: Registry, hidden: Hidden) -> list[QueryParameter]:
    """Return the parameters of a list: paging, order, view, and a filter for each property of the entity itself.

    The combinations with operators and properties of related rows are too many to list; ``filter_schemas`` describes
    the operators.
    """
    vocabulary = Vocabulary(registry, model, hidden)
    return [*settings_of(vocabulary, (*PAGING, *ORDERING, *VIEWING)), *_filters(vocabulary)]


def view_parameters_of(model: EntityModel, registry: Registry, hidden: Hidden) -> list[QueryParameter]:
    """Return the parameters of a read by id."""
    return list(settings_of(Vocabulary(registry, model, hidden), VIEWING))


def history_parameters_of(model: EntityModel, registry: Registry, hidden: Hidden) -> list[QueryParameter]:
    """Return the parameters of a row's history."""
    return list(settings_of(Vocabulary(registry, model, hidden), HISTORY))


def summary_parameters_of(model: EntityModel, registry: Registry, hidden: Hidden) -> list[QueryParameter]:
    """Return the parameters of a summary; a filter named like one of its settings needs an operator."""
    vocabulary = Vocabulary(registry, model, hidden)
    own = [QueryParameter(name, *_OF_SUMMARIES[name]) for name in SUMMARY if name in _OF_SUMMARIES]
    filters = (each for each in _filters(vocabulary) if each.name not in _OF_SUMMARIES)
    return [*own, *settings_of(vocabulary, ("search", "includeDeleted")), *filters]


def export_parameters_of(model: EntityModel, registry: Registry, hidden: Hidden) -> list[QueryParameter]:
    """Return the parameters of an export, except for its format."""
    vocabulary = Vocabulary(registry, model, hidden)
    return [*settings_of(vocabulary, (*ORDERING, *VIEWING)), *_filters(vocabulary)]


def feed_parameters_of(model: EntityModel, registry: Registry, hidden: Hidden) -> list[QueryParameter]:
    """Return the filters of the feed, which are by properties of the entity itself."""
    return list(_filters(Vocabulary(registry, model, hidden)))


def settings_of(vocabulary: Vocabulary, names: tuple[str, ...]) -> Iterator[QueryParameter]:
    """Yield the accepted parameters in ``names``; without search fields, omit ``search``."""
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
        if Operator.IN in QUERY_KINDS[field.kind].operators:
            values = f"Of: {', '.join(field.choices)}." if field.choices else ""
            yield QueryParameter(field.wire, {"$ref": f"#/components/schemas/{QUERY_KINDS[field.kind].filter}"}, values)


def operator_meanings() -> Mapping[str, str]:
    """Return the description of each operator: for ``gte``, "is this or larger"."""
    return {operator.value: meaning for operator, meaning in _MEANINGS.items()}


def filter_schemas() -> Mapping[str, Schema]:
    """Return schemas of filters by name: operators and bounds for each kind of property."""
    return {each.filter: {"type": "string", "description": _description(each)} for each in QUERY_KINDS.values()}


def _description(queried: QueryKind) -> str:
    plain = ""
    if Operator.IN in queried.operators:
        plain = "The property is this value, or one of several between commas. "
    if Operator.ALL in queried.operators:
        plain = "The row has a link to this id, or to one of several between commas; null means no links. "
    operators = "; ".join(f"`{operator.value}` {_MEANINGS[operator]}" for operator in queried.operators)
    bounds = "; ".join(f"`{_bound_name(bound)}` is `{bound.operator.value}`" for bound in queried.bounds)
    short = " `createdAfter` is short for `createdAtAfter`." if queried is QUERY_KINDS[Kind.TIMESTAMP] else ""
    if queried is QUERY_KINDS[Kind.UUID]:
        plain += "`me` is the caller, where the property holds the id of a user. "
    return f"{plain}Operators, as in `<property>.{queried.operators[0].value}=`: {operators}." + (
        f" Other names: {bounds}.{short}" if bounds else ""
    )


def _bound_name(bound: Bound) -> str:
    return f"{bound.prefix}<Property>" if bound.prefix else f"<property>{bound.suffix}"
