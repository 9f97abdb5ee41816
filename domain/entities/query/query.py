"""Queries and their parts as values; ``read_query`` makes them from query parameters."""

from collections.abc import Iterable, Sequence
from enum import Enum
from functools import lru_cache
from typing import Protocol, TypeVar

from msgspec import Struct

from domain.entities.declaration import EntityModel, FieldModel, Hidden, Registry
from domain.errors import ValidationError

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
    CONTAINS = "contains"
    STARTS_WITH = "startsWith"
    ENDS_WITH = "endsWith"
    IS_NULL = "isNull"


MOST_COUNTED = 100_000
"""Rows up to which a total that need not be exact is counted; of more, this number is told as an estimate."""


class Count(Enum):
    """Precision of the total: exact, counted up to ``MOST_COUNTED``, or none at all."""

    EXACT = "exact"
    ESTIMATED = "estimated"
    NONE = "none"


class Path(Struct, frozen=True):
    """A field, possibly of a related row: ``category.name`` is ``Path(("category",), "name")``.

    ``steps`` are names of relations, ``field`` is a Python name.
    """

    steps: tuple[str, ...]
    field: str


class Condition(Struct, frozen=True):
    """A filter: the field at ``path`` compared with ``value``.

    ``value`` has the field's Python type; a tuple of such values for IN, a bool for IS_NULL; a choice is its text.
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
    """Parts of a row that a response contains.

    ``include`` are paths of relations; with ``("products", "reviews")`` it also contains ``("products",)``. ``fields``
    are Python names, None for all. ``hidden`` fields are neither shown, in included rows as well, nor searched.
    """

    include: tuple[tuple[str, ...], ...] = ()
    fields: tuple[str, ...] | None = None
    include_deleted: bool = False
    hidden: Hidden = frozenset()


WHOLE = View()


LARGEST_CHARACTER = "\U0010ffff"
"""Sorts behind all other characters."""


class Beginning(Struct, frozen=True):
    """The first characters of a text that is too long for a cursor.

    The store continues behind the whole text of the row that the cursor names. If that row is gone or its text has
    changed, the store continues before all texts that begin so: a row may be repeated and none is lost.
    """

    text: str


class Query(Struct, frozen=True, kw_only=True):
    """Content of a list or an export: its filters, order and page. A row must fulfil every condition.

    ``sort`` ends with the id, in the direction of the key before it, so that rows with equal keys keep one order. Nulls
    sort as the largest value, as does the field of a missing related row; text sorts by code point. ``cursor`` holds
    the sort values of the last row of the page before, in the order of ``sort``, a long text as its ``Beginning``.
    ``page`` counts from 1.
    """

    view: View = WHOLE
    where: tuple[Condition, ...] = ()
    search: tuple[str, ...] = ()
    sort: tuple[SortKey, ...]
    page: int = 1
    page_size: int = 20
    count: Count = Count.EXACT
    cursor: tuple[object, ...] | None = None

    @property
    def place_of_id(self) -> int:
        """Number of the sort key that is the id."""
        return next(number for number, key in enumerate(self.sort) if key.path == Path((), "id"))

    @property
    def offset(self) -> int:
        return 0 if self.cursor is not None else (self.page - 1) * self.page_size


Parameters = Iterable[tuple[str, str]]
"""The decoded query string: (name, value) pairs in their order, a name as often as it was given."""


class HasPath(Protocol):
    """A value with a path; conditions of the store have one too."""

    @property
    def path(self) -> Path: ...


C = TypeVar("C", bound=HasPath)


def split_by_step(conditions: Iterable[C], depth: int) -> tuple[list[C], dict[str, list[C]]]:
    """Splits conditions into those on the row itself and those on each related row, at this depth of relations.

    All conditions by way of one relation must hold for the same related row.
    """
    here: list[C] = []
    beyond: dict[str, list[C]] = {}
    for condition in conditions:
        if len(condition.path.steps) == depth:
            here.append(condition)
        else:
            beyond.setdefault(condition.path.steps[depth], []).append(condition)
    return here, beyond


MOST_INCLUDED = 32
"""MiB of JSON that the lists of an answer may have: lists of lists of rows are as large as a tenant's data."""
MOST_INCLUDED_BYTES = MOST_INCLUDED * 1024 * 1024


def too_much_included() -> ValidationError:
    """Error of a query whose included lists have more than ``MOST_INCLUDED``."""
    remedy = "take fewer rows to a page or fewer relations, or read the related rows by themselves"
    return ValidationError.on("include", f"brings lists of more than {MOST_INCLUDED} MiB: {remedy}")


def relations_of(conditions: Iterable[Condition]) -> set[tuple[str, ...]]:
    """Ways of relations that the conditions lead through: each becomes a subquery, which conditions by it share."""
    steps = {condition.path.steps for condition in conditions}
    return {way[: depth + 1] for way in steps for depth in range(len(way))}


def in_one_order(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """The conditions, ordered so that queries which differ in the order of their filters share one statement."""
    return tuple(sorted(conditions, key=lambda asked: (asked.path.steps, asked.path.field, asked.operator.value)))


LARGEST_PAGE = 32
"""MiB of texts and lists that the rows of a page may have together, unless it has a single row."""
LARGEST_PAGE_BYTES = LARGEST_PAGE * 1024 * 1024


def too_large_page() -> ValidationError:
    """Error of a query whose page has more than ``LARGEST_PAGE``."""
    return ValidationError.on("pageSize", f"brings a page of more than {LARGEST_PAGE} MiB: take fewer rows to a page")


def too_large_batch() -> ValidationError:
    """Error of a batch that changes rows of more than ``LARGEST_PAGE`` together, which its answer would show."""
    return ValidationError.on("items", f"are rows of more than {LARGEST_PAGE} MiB together: change fewer at a time")


def included(view: View, steps: tuple[str, ...]) -> list[str]:
    """Relations to show in the rows at the end of ``steps``."""
    return [path[-1] for path in view.include if path[:-1] == steps]


def response_fields(model: EntityModel, view: View, steps: tuple[str, ...] = ()) -> list[str]:
    """Python names of the fields to show in the rows at the end of ``steps``; ``View.fields`` narrows the first row."""
    wanted = view.fields if not steps else None
    names = (field.name for field in model.fields if wanted is None or field.name in wanted or field.name == "id")
    return [name for name in names if (model.plural, name) not in view.hidden]


def searched(model: EntityModel, hidden: Hidden) -> list[str]:
    """Search fields of the entity that are not hidden."""
    return [name for name in model.declaration.search if (model.plural, name) not in hidden]


@lru_cache(256)
def default_sort(model: EntityModel, hidden: Hidden) -> tuple[SortKey, ...]:
    """The declared order; the order of creation where the field it sorts by is hidden from the caller."""
    name = model.declaration.sort.removeprefix("-")
    descending = model.declaration.sort.startswith("-")
    return whole_order([] if (model.plural, name) in hidden else [SortKey(Path((), name), descending)], descending)


def whole_order(keys: Sequence[SortKey], descending: bool = False) -> tuple[SortKey, ...]:
    """The sort keys with the id as the last one, in the direction of the key before it, else ``descending``."""
    # Without a unique last key, rows with equal values could appear on two pages, or on none.
    by_id = Path((), "id")
    if any(key.path == by_id for key in keys):
        return tuple(keys)
    return (*keys, SortKey(by_id, keys[-1].descending if keys else descending))


def at_end(registry: Registry, model: EntityModel, steps: Iterable[str]) -> EntityModel:
    """The entity at the end of the relations ``steps``."""
    for step in steps:
        model = registry.target(model.relations[step])
    return model


def field_of(registry: Registry, model: EntityModel, path: Path) -> FieldModel:
    """The field at the end of ``path``."""
    return at_end(registry, model, path.steps).by_name[path.field]


def entities_read(model: EntityModel, registry: Registry, query_or_view: Query | View) -> set[str]:
    """Plurals of the related entities that the query shows, filters or sorts by."""
    # Security: filters and orders tell about rows that are not shown, so the caller needs the read permission for each.
    if isinstance(query_or_view, View):
        paths_of_steps = set(query_or_view.include)
    else:
        paths = [*(condition.path for condition in query_or_view.where), *(key.path for key in query_or_view.sort)]
        paths_of_steps = {*query_or_view.view.include, *(path.steps for path in paths)}
    return {
        at_end(registry, model, steps[: depth + 1]).plural for steps in paths_of_steps for depth in range(len(steps))
    }
