"""Summaries of rows in dictionaries, with PostgreSQL's results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from fractions import Fraction
from functools import partial
from math import isinf, isnan
from typing import Any
from zoneinfo import ZoneInfo

from adapters.memory.entities.reading import RowReader
from adapters.memory.entities.rows import VisibleRows
from adapters.memory.entities.state import Row
from adapters.memory.identity.member_rows import member_rows
from adapters.memory.store import Access
from application.ports.entities.summaries import Group
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.matching import plain
from domain.entities.query.responses import LARGEST_PAGE, LARGEST_PAGE_BYTES
from domain.entities.query.summary import Function, Grouping, Measure, Summary
from domain.errors import UnprocessableEntity, ValidationError
from domain.scope import Scope

_WIDE = Context(prec=1_000)
Values = Sequence[Any]
"""Values of a measure in a group, without nulls."""


@dataclass(frozen=True)
class MemorySummaries:
    access: Access
    registry: Registry
    scope: Scope

    async def groups(self, model: EntityModel, summary: Summary, zone: str) -> list[Group]:
        store = self.access.read()
        reader = RowReader(VisibleRows(store.tables, self.registry, self.scope, member_rows(store, self.scope)))
        local = ZoneInfo(zone)
        rows: dict[tuple[object, ...], list[Row]] = {} if summary.groups else {(): []}
        for row in reader.all(model, summary.query):
            key = tuple(_key(group, plain(reader.value(model, row, group.path)), local) for group in summary.groups)
            rows.setdefault(key, []).append(row)
        found: list[Group] = []
        for key, held in rows.items():
            values = [
                _measured(each, [each.path and plain(reader.value(model, row, each.path)) for row in held])
                for each in summary.measures
            ]
            found.append(Group(key, tuple(values)))
        for number, descending in reversed(summary.order):
            found.sort(key=partial(_sort_value, number=number), reverse=descending)
        first = found[: summary.limit + 1]
        _ensure_short(first)
        return first


def _key(group: Grouping, value: object, zone: ZoneInfo) -> object:
    if group.unit is None or not isinstance(value, date):
        return value
    return group.unit.first_day(_local_day(value, zone) if isinstance(value, datetime) else value)


def _local_day(moment: datetime, zone: ZoneInfo) -> date:
    try:
        return moment.astimezone(zone).date()
    except OverflowError:
        return date.max if moment.astimezone(UTC).year == date.max.year else date.min


def _measured(measure: Measure, values: Values) -> object:
    if measure.function is Function.COUNT:
        return len(values)
    known = [value for value in values if value is not None]
    if measure.function is Function.DISTINCT:
        return len(set(known))
    return _FUNCTIONS[measure.function](measure, known) if known else None


def _sum(measure: Measure, values: Values) -> object:
    return _float_sum(values) if measure.scale is None else _rounded(_exact_sum(values), measure.scale)


def _average(measure: Measure, values: Values) -> object:
    if measure.scale is None:
        return _float_sum(values) / len(values)
    return _rounded(_exact_sum(values) / len(values), measure.scale)


def _float_sum(values: Values) -> float:
    total: float = sum(values)
    if isinf(total) and not any(map(isinf, values)):
        raise UnprocessableEntity("A sum is too large for its type: narrow the filters.")
    return total


def _exact_sum(values: Values) -> Fraction:
    return sum(map(Fraction, values), Fraction(0))


def _rounded(value: Fraction, scale: int) -> Decimal:
    """Round half away from zero, as PostgreSQL does."""
    digits = int(abs(value) * 10**scale + Fraction(1, 2))
    return Decimal(-digits if value < 0 else digits).scaleb(-scale, context=_WIDE)


_FUNCTIONS: Mapping[Function, Callable[[Measure, Values], object]] = {
    Function.SUM: _sum,
    Function.AVG: _average,
    Function.MIN: lambda _, values: min(values, key=_order),
    Function.MAX: lambda _, values: max(values, key=_order),
}


def _order(value: Any) -> tuple[bool, Any]:
    """Return the value to compare: NaN is the largest float."""
    return (True, 0) if isinstance(value, float) and isnan(value) else (False, value)


def _sort_value(group: Group, number: int) -> tuple[bool, Any]:
    """Return the group's value to sort by; nulls are the largest."""
    value = (*group.key, *group.values)[number]
    return value is None, None if value is None else _order(value)


def _ensure_short(groups: Sequence[Group]) -> None:
    sizes = [len(value.encode()) for group in groups for value in group.key if isinstance(value, str)]
    if len(groups) > 1 and sum(sizes) > LARGEST_PAGE_BYTES:
        raise ValidationError.on("group", f"makes keys of more than {LARGEST_PAGE} MiB: group by shorter texts")
