"""Parses the parameters of a summary."""

from functools import partial

from domain.entities.declaration import EntityModel, FieldModel, Hidden, Registry
from domain.entities.kinds import LISTS, NUMBERS, TIMES, Kind
from domain.entities.query.query import Count, Parameters, Query, SortKey, names_caller
from domain.entities.query.read_query import DIRECTIONS, EntityParameters, names_in, whole_number_in
from domain.entities.query.summary import (
    DEFAULT_GROUPS,
    MAX_GROUPED,
    MAX_GROUPS,
    MAX_MEASURES,
    MORE_DIGITS,
    Function,
    Grouping,
    Measure,
    Summary,
    Unit,
)
from domain.entities.query.values import NotAValue
from domain.entities.query.vocabulary import NotAWord, Property, Vocabulary
from domain.errors import unknown_name

SUMMARY = ("group", "measures", "sort", "limit", "search", "includeDeleted")
GROUPED = frozenset(Kind) - NUMBERS - LISTS
"""Kinds of fields to group by."""
MEASURED = {
    Function.SUM: NUMBERS,
    Function.AVG: NUMBERS,
    Function.MIN: NUMBERS | TIMES,
    Function.MAX: NUMBERS | TIMES,
    Function.DISTINCT: frozenset(Kind) - LISTS,
}
"""Kinds of fields that each function accepts."""
Order = tuple[tuple[int, bool], ...]
_UNITS = ", ".join(unit.value for unit in Unit)
_COUNTED = (Measure(Function.COUNT),)


def read_summary(model: EntityModel, registry: Registry, hidden: Hidden, parameters: Parameters) -> Summary:
    """Read the parameters of a summary. Raises ValidationError with all errors.

    Example: ``[("group", "createdAt:month"), ("measures", "sum:total"), ("sort", "sum:total:desc")]``.
    """
    reader = _SummaryReader(Vocabulary(registry, model, hidden), parameters, SUMMARY)
    groups, measures = reader.groups(), reader.measures()
    order, limit = reader.order(groups, measures), reader.limit()
    view, where, search = reader.view(), reader.where(), reader.search()
    reader.ensure_right()
    paths = [*(group.path for group in groups), *(each.path for each in measures if each.path is not None)]
    sort = tuple(SortKey(path, descending=False) for path in paths)
    query = Query(view=view, where=where, search=search, sort=sort, count=Count.NONE, names_caller=names_caller(where))
    return Summary(query=query, groups=groups, measures=measures, order=order, limit=limit)


class _SummaryReader(EntityParameters):
    def groups(self) -> tuple[Grouping, ...]:
        return self._read("group", self._groups, ())

    def measures(self) -> tuple[Measure, ...]:
        return self._read("measures", self._measures, _COUNTED)

    def order(self, groups: tuple[Grouping, ...], measures: tuple[Measure, ...]) -> Order:
        asked: Order = self._read("sort", partial(_keys, columns=_columns(groups, measures)), ())
        numbers = {number for number, _ in asked}
        return (*asked, *((number, False) for number in range(len(groups)) if number not in numbers))

    def limit(self) -> int:
        return self._read("limit", lambda text: whole_number_in(text, MAX_GROUPS), DEFAULT_GROUPS)

    def _groups(self, text: str) -> tuple[Grouping, ...]:
        names = names_in(text)
        if len(names) > MAX_GROUPED:
            raise NotAValue(f"accepts at most {MAX_GROUPED} properties")
        groups = tuple(self._group(*name.partition(":")[::2]) for name in names)
        if len({group.path for group in groups}) < len(groups):
            raise NotAValue("names a property twice")
        return groups

    def _group(self, name: str, unit: str) -> Grouping:
        found = self._of_one_row(name)
        kind = found.field.kind
        if kind not in GROUPED:
            raise NotAWord(f"{name!r} is of the type {kind.value}, which cannot be grouped by")
        if kind not in TIMES and unit:
            raise NotAWord(f"{name!r} accepts no unit: only dates and timestamps have one")
        if unit.lower() not in {each.value for each in Unit} and (unit or kind is Kind.TIMESTAMP):
            raise NotAWord(f"{name!r} needs one of these units: {_UNITS}; for example '{name}:month'")
        return Grouping(_wire(found), found.path, kind, Unit(unit.lower()) if unit else None)

    def _measures(self, text: str) -> tuple[Measure, ...]:
        names = names_in(text)
        if len(names) > MAX_MEASURES:
            raise NotAValue(f"accepts at most {MAX_MEASURES} measures")
        measures = tuple(map(self._measure, names))
        if len(set(measures)) < len(measures):
            raise NotAValue("names a measure twice")
        return measures

    def _measure(self, text: str) -> Measure:
        word, _, name = text.partition(":")
        known = {function.value: function for function in Function}
        if (function := known.get(word.lower())) is None:
            raise NotAWord(
                f"{text!r} is not known: a measure is count, or one of sum, avg, min, max and distinct with "
                "a property, such as sum:price"
            )
        if function is Function.COUNT:
            if name:
                raise NotAWord(f"{text!r} is not known: count has no property; distinct counts different values")
            return Measure(function)
        found = self._of_one_row(name)
        kind = found.field.kind
        if kind not in MEASURED[function]:
            raise NotAWord(f"{name!r} is of the type {kind.value}, which {word} does not accept")
        return Measure(function, _wire(found), found.path, kind, _scale(function, found.field))

    def _of_one_row(self, name: str) -> Property:
        found = self._found(name, self.vocabulary.property)
        if found.is_many:
            raise NotAWord(f"{name!r} leads to several rows: name a property of the row or of a to-one relation")
        return found


def _wire(found: Property) -> str:
    return ".".join((*found.path.steps, found.field.wire))


def _scale(function: Function, field: FieldModel) -> int | None:
    if function is Function.DISTINCT:
        return 0
    if field.kind not in NUMBERS or field.kind is Kind.FLOAT:
        return None
    scale = 0 if field.money is None else field.money.scale
    return scale + MORE_DIGITS if function is Function.AVG else scale


def _columns(groups: tuple[Grouping, ...], measures: tuple[Measure, ...]) -> dict[str, int]:
    """Return the numbers of columns by their names in ``sort``."""
    numbers = {group.name: number for number, group in enumerate(groups)}
    numbers |= {f"{group.name}:{group.unit.value}": numbers[group.name] for group in groups if group.unit is not None}
    for number, measure in enumerate(measures, len(groups)):
        numbers[f"{measure.function.value}:{measure.name}".removesuffix(":")] = number
    return numbers


def _keys(text: str, columns: dict[str, int]) -> Order:
    by_word = {name.lower(): number for name, number in columns.items()}
    keys: dict[int, bool] = {}
    for key in names_in(text):
        name, _, direction = key.rpartition(":")
        is_plain = key.lower() in by_word or direction.lower() not in DIRECTIONS
        number = by_word.get((key if is_plain else name).lower())
        if number is None:
            raise NotAWord(f"{key!r} {unknown_name(key, columns)}")
        if number in keys:
            raise NotAValue("names a group or measure twice")
        keys[number] = not is_plain and DIRECTIONS[direction.lower()]
    return tuple(keys.items())
