"""What a list, an export or a read asks for, as values; ``read_query`` makes them from parameters."""

from collections.abc import Iterable, Sequence
from enum import Enum
from functools import lru_cache
from typing import Protocol, TypeVar

from msgspec import Struct

from domain.entities.declaration import EntityModel, FieldModel, Registry

Hidden = frozenset[tuple[str, str]]
"""Fields that do not exist for the caller: the plural of their entity, and their Python name."""


class Operator(Enum):
    """Spelled as in ``<property>.<operator>=``."""

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


class Count(Enum):
    EXACT = "exact"
    ESTIMATED = "estimated"
    NONE = "none"


class Path(Struct, frozen=True):
    """A property by way of relations: ``steps`` are relation names, ``field`` the Python name at their end."""

    steps: tuple[str, ...]
    field: str


class Condition(Struct, frozen=True):
    """``value`` has the field's own Python type; a tuple of them for IN, a bool for IS_NULL; a choice is its text."""

    path: Path
    operator: Operator
    value: object


class SortKey(Struct, frozen=True):
    path: Path
    descending: bool


class View(Struct, frozen=True, kw_only=True):
    """What of a row is shown: ``include`` are relation paths, ``fields`` Python names (None: all).

    Where ``products.reviews`` is included ``products`` is too. What is ``hidden`` is shown nowhere, included rows
    among them, and searched neither.
    """

    include: tuple[tuple[str, ...], ...] = ()
    fields: tuple[str, ...] | None = None
    include_deleted: bool = False
    hidden: Hidden = frozenset()


WHOLE = View()


class Query(Struct, frozen=True, kw_only=True):
    """All conditions hold together; ``sort`` ends with the id in the direction of the key before, so ties never move.

    Nulls, and what a missing relation would have had, count as the largest; text sorts by code point.
    ``cursor`` holds the sort values of the last row of the page before, in the order of ``sort``.
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
    def offset(self) -> int:
        return 0 if self.cursor is not None else (self.page - 1) * self.page_size


Parameters = Iterable[tuple[str, str]]
"""The decoded query string, in order, a name as often as it was given."""


class HasPath(Protocol):
    @property
    def path(self) -> Path: ...


C = TypeVar("C", bound=HasPath)


def parted(conditions: Iterable[C], depth: int) -> tuple[list[C], dict[str, list[C]]]:
    """Those on the row itself, and those on each related row: all conditions on one relation mean one row of it."""
    here: list[C] = []
    beyond: dict[str, list[C]] = {}
    for one in conditions:
        if len(one.path.steps) == depth:
            here.append(one)
        else:
            beyond.setdefault(one.path.steps[depth], []).append(one)
    return here, beyond


def included(view: View, steps: tuple[str, ...]) -> list[str]:
    """The relations to show in the rows at the end of ``steps``."""
    return [path[-1] for path in view.include if path[:-1] == steps]


def shown(model: EntityModel, view: View, steps: tuple[str, ...] = ()) -> list[str]:
    """The Python names of the fields to show in the rows at the end of ``steps``; ``fields`` narrows the first."""
    wanted = view.fields if not steps else None
    names = (one.name for one in model.fields if wanted is None or one.name in wanted or one.name == "id")
    return [name for name in names if (model.plural, name) not in view.hidden]


def searched(model: EntityModel, hidden: Hidden) -> list[str]:
    return [name for name in model.declaration.search if (model.plural, name) not in hidden]


@lru_cache(256)
def default_sort(model: EntityModel, hidden: Hidden) -> tuple[SortKey, ...]:
    """The declared order; that of creation where the caller may not see what it goes by."""
    name = model.declaration.sort.removeprefix("-")
    descending = model.declaration.sort.startswith("-")
    return whole_order([] if (model.plural, name) in hidden else [SortKey(Path((), name), descending)], descending)


def whole_order(keys: Sequence[SortKey], descending: bool = False) -> tuple[SortKey, ...]:
    """With the id as the last word, in the direction of the key before it, or ``descending`` when there is none."""
    by_id = Path((), "id")
    if any(key.path == by_id for key in keys):
        return tuple(keys)
    return (*keys, SortKey(by_id, keys[-1].descending if keys else descending))


def at_end(registry: Registry, model: EntityModel, steps: Iterable[str]) -> EntityModel:
    """The entity that relations lead to."""
    for step in steps:
        model = registry.target(model.relations[step])
    return model


def field_of(registry: Registry, model: EntityModel, path: Path) -> FieldModel:
    return at_end(registry, model, path.steps).by_name[path.field]


def entities_read(model: EntityModel, registry: Registry, asked: Query | View) -> set[str]:
    """The plurals of related entities that it shows, filters or sorts by: the caller needs read on each."""
    if isinstance(asked, View):
        ways = set(asked.include)
    else:
        paths = [*(one.path for one in asked.where), *(key.path for key in asked.sort)]
        ways = {*asked.view.include, *(path.steps for path in paths)}
    return {at_end(registry, model, way[: depth + 1]).plural for way in ways for depth in range(len(way))}
