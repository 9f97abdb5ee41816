"""Queries and their components as values; ``read_query`` creates them from query parameters."""

from collections.abc import Iterable, Sequence
from enum import Enum
from functools import lru_cache
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from domain.entities.declaration import EntityModel, FieldModel, Hidden, Registry

# Each step is a join or a subquery.
MAX_STEPS = 3


class Operator(Enum):
    """Comparison of a filter, spelled as in ``<property>.<operator>=``: ``price.gte=10``."""

    EQ = "eq"
    NE = "ne"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    IN = "in"
    ALL = "all"
    CONTAINS = "contains"
    STARTS_WITH = "startsWith"
    ENDS_WITH = "endsWith"
    IS_NULL = "isNull"


MOST_COUNTED = 100_000
"""Maximum number of rows that an inexact total counts. Larger totals are reported as this estimate."""


class Count(Enum):
    """Precision of the total: exact, counted up to ``MOST_COUNTED``, or omitted."""

    EXACT = "exact"
    ESTIMATED = "estimated"
    NONE = "none"


class Path(Struct, frozen=True):
    """A field, possibly of a related row: ``category.name`` is ``Path(("category",), "name")``.

    ``steps`` are relation names, ``field`` is a Python name.
    """

    steps: tuple[str, ...]
    field: str


class NamedUser(Enum):
    """Value of a filter that names the caller: ``createdBy=me``."""

    ME = "me"


ME = NamedUser.ME


class Condition(Struct, frozen=True):
    """A filter that compares the field at ``path`` with ``value``.

    ``value`` has the field's Python type; for IN and ALL it is a tuple of such values, for IS_NULL a bool; a
    choice is its text; ME stands for the caller's id.
    Example: ``price.gte=10`` is ``Condition(Path((), "price"), Operator.GTE, Decimal(10))``.
    """

    path: Path
    operator: Operator
    value: object


class SortKey(Struct, frozen=True):
    """A field to sort by, and its direction."""

    path: Path
    descending: bool


class View(Struct, frozen=True, kw_only=True):
    """The fields and relations of a row in a response.

    ``include`` are relation paths; with ``("products", "reviews")`` it also contains ``("products",)``. ``fields`` are
    Python names, None for all. A query neither searches nor shows ``hidden`` fields, not even in included rows.
    """

    include: tuple[tuple[str, ...], ...] = ()
    fields: tuple[str, ...] | None = None
    include_deleted: bool = False
    hidden: Hidden = frozenset()


WHOLE = View()


class Beginning(Struct, frozen=True):
    """First characters of a text that is too long for a cursor.

    The store continues after the complete text of the cursor's row. If that row was deleted or its text has changed,
    the store continues before all texts with these first characters: it may repeat a row, but omits none.
    """

    text: str


class Query(Struct, frozen=True, kw_only=True):
    """Content of a list or an export: filters, order and page. A row must fulfil every condition.

    ``sort`` ends with the id, in the direction of the preceding key, for a stable order. Nulls and fields of missing
    related rows sort as the largest value; text sorts by code point. ``cursor`` holds the sort values of the previous
    page's last row, a long text as its ``Beginning``. ``page`` counts from 1. ``names_caller``: a condition has ME.
    """

    view: View = WHOLE
    where: tuple[Condition, ...] = ()
    search: tuple[str, ...] = ()
    sort: tuple[SortKey, ...]
    page: int = 1
    page_size: int = 20
    count: Count = Count.EXACT
    cursor: tuple[object, ...] | None = None
    names_caller: bool = False

    @property
    def place_of_id(self) -> int:
        """Index of the id in the sort keys."""
        return next(number for number, key in enumerate(self.sort) if key.path == Path((), "id"))

    @property
    def offset(self) -> int:
        return 0 if self.cursor is not None else (self.page - 1) * self.page_size


def names_caller(conditions: Iterable[Condition]) -> bool:
    """Return whether a condition compares with ME."""
    return any(each.value is ME or (type(each.value) is tuple and ME in each.value) for each in conditions)


def of_caller(query: Query, user_id: UUID) -> Query:
    """Return the query with the caller's id instead of ME."""
    where = tuple(replace(each, value=_with_id(each.value, user_id)) for each in query.where)
    return replace(query, where=where, names_caller=False)


def _with_id(value: object, user_id: UUID) -> object:
    if isinstance(value, tuple):
        return tuple(_with_id(each, user_id) for each in value)
    return user_id if value is ME else value


Parameters = Iterable[tuple[str, str]]
"""The decoded query string: (name, value) pairs in order, with repeated names."""


def relations_of(conditions: Iterable[Condition]) -> set[tuple[str, ...]]:
    """Return the relation paths of the conditions. The store creates one subquery per path for all its conditions."""
    steps = {condition.path.steps for condition in conditions}
    return {way[: depth + 1] for way in steps for depth in range(len(way))}


def in_one_order(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Sort the conditions, so that queries with filters in another order share a statement."""
    return tuple(sorted(conditions, key=lambda asked: (asked.path.steps, asked.path.field, asked.operator.value)))


def searched(model: EntityModel, hidden: Hidden) -> list[str]:
    """Return the entity's visible search fields."""
    return [name for name in model.declaration.search if (model.plural, name) not in hidden]


@lru_cache(256)
def default_sort(model: EntityModel, hidden: Hidden) -> tuple[SortKey, ...]:
    """Return the declared order, or creation order if its field is hidden from the caller."""
    name = model.declaration.sort.removeprefix("-")
    descending = model.declaration.sort.startswith("-")
    return whole_order([] if (model.plural, name) in hidden else [SortKey(Path((), name), descending)], descending)


def whole_order(keys: Sequence[SortKey], descending: bool = False) -> tuple[SortKey, ...]:
    """Return the sort keys and the id, in the direction of the last key, or ``descending`` without keys."""
    # Without a unique last key, rows with equal values could appear on two pages or none.
    by_id = Path((), "id")
    if any(key.path == by_id for key in keys):
        return tuple(keys)
    return (*keys, SortKey(by_id, keys[-1].descending if keys else descending))


def at_end(registry: Registry, model: EntityModel, steps: Iterable[str]) -> EntityModel:
    """Return the entity that the relations ``steps`` lead to."""
    for step in steps:
        model = registry.target(model.relations[step])
    return model


def field_of(registry: Registry, model: EntityModel, path: Path) -> FieldModel:
    """Return the field at the end of ``path``."""
    return at_end(registry, model, path.steps).by_name[path.field]


def entities_read(model: EntityModel, registry: Registry, query_or_view: Query | View) -> set[str]:
    """Return plurals of the related entities that the query shows, filters or sorts by."""
    # Security: filters and orders reveal hidden rows, so each needs the read permission.
    if isinstance(query_or_view, View):
        paths_of_steps = set(query_or_view.include)
    else:
        paths = [*(condition.path for condition in query_or_view.where), *(key.path for key in query_or_view.sort)]
        paths_of_steps = {*query_or_view.view.include, *(path.steps for path in paths)}
    read = {
        at_end(registry, model, steps[: depth + 1]).plural for steps in paths_of_steps for depth in range(len(steps))
    }
    # An internal entity has no permission: its rows are as visible as those that refer to them.
    return read - registry.internal.keys()
