"""Summaries of rows: one statement per shape, compiled and cached; client values are only parameters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import asyncpg
import sqlalchemy as sa
from msgspec import Struct, structs
from sqlalchemy import Select, func

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.reading.own_keys import with_own_keys
from adapters.postgres.entities.reading.page_bounds import together_within_bound
from adapters.postgres.entities.reading.rows import Shape
from adapters.postgres.entities.reading.select import count_shape, values_of
from adapters.postgres.entities.reading.select_rows import SelectRows
from adapters.postgres.statements.compiled import CompiledStatement, compiled, constant, parameter
from adapters.postgres.statements.planning import planned_for_values
from adapters.postgres.statements.rows import Value
from adapters.postgres.statements.running import fetch
from application.ports.entities.summaries import Group
from domain.entities.declaration import EntityModel, Registry
from domain.entities.kinds import Kind
from domain.entities.query.responses import LARGEST_PAGE
from domain.entities.query.summary import Function, Grouping, Measure, Summary
from domain.errors import UnprocessableEntity, ValidationError
from domain.scope import Scope

REMEMBERED = 256
"""Number of cached shapes per registry, most recently used."""
PATIENCE = 5.0
"""Seconds until PostgreSQL cancels a summary."""

_LIMIT_TIME = "SELECT set_config('statement_timeout', $1, true)"
_ZONE = parameter("zone", sa.Text())
_FIRST, _LAST = (sa.cast(constant(day, sa.Text()), sa.TIMESTAMP()) for day in ("0001-01-01", "9999-12-31"))
_PRECISION, _MORE_DIGITS = 1_000, 20


class SummaryShape(Struct, frozen=True):
    """The part of a summary that determines its statement; ``rows.sort`` has the paths of groups and measures."""

    model: EntityModel
    rows: Shape
    groups: tuple[Grouping, ...]
    measures: tuple[Measure, ...]
    order: tuple[tuple[int, bool], ...]


@dataclass(frozen=True, slots=True)
class PostgresSummaries:
    connection: ServiceConnection
    registry: Registry
    scope: Scope
    patience: float = PATIENCE

    async def groups(self, model: EntityModel, summary: Summary, zone: str) -> list[Group]:
        shape = shape_of(model, self.scope, summary)
        values = values_of(self.scope, summary.query) | {"zone": zone, "size": summary.limit + 1}
        statement = summary_statement(self.registry, shape)
        values = await with_own_keys(self.connection, self.registry, statement, values)
        await self.connection.execute(_LIMIT_TIME, f"{self.patience * 1000:.0f}ms")
        try:
            found = await fetch(self.connection, statement, values)
        except asyncpg.QueryCanceledError:
            raise UnprocessableEntity("The summary takes too long: narrow the filters.") from None
        except asyncpg.InvalidParameterValueError:
            raise UnprocessableEntity(
                "The database does not know the tenant's time zone: choose another one."
            ) from None
        except asyncpg.NumericValueOutOfRangeError:
            raise UnprocessableEntity("A sum is too large for its type: narrow the filters.") from None
        except asyncpg.InvalidArgumentForPowerFunctionError:
            raise too_long_keys() from None
        keys = len(summary.groups)
        return [Group(tuple(row[:keys]), tuple(row[keys:-1])) for row in found]


def shape_of(model: EntityModel, scope: Scope, summary: Summary) -> SummaryShape:
    rows = structs.replace(count_shape(scope, summary.query), sort=summary.query.sort)
    return SummaryShape(model, rows, summary.groups, summary.measures, summary.order)


def too_long_keys() -> ValidationError:
    return ValidationError.on("group", f"makes keys of more than {LARGEST_PAGE} MiB: group by shorter texts")


@lru_cache(REMEMBERED)
def summary_statement(registry: Registry, shape: SummaryShape) -> CompiledStatement:
    """Return the statement for the groups in order, at most ``size``."""
    rows = _rows(registry, shape).subquery("rows")
    keys, measures = list(rows.c)[: len(shape.groups)], iter(list(rows.c)[len(shape.groups) :])
    values = [
        func.count() if each.path is None else _FUNCTIONS[each.function](next(measures), each)
        for each in shape.measures
    ]
    named = [column.label(f"column {number}") for number, column in enumerate([*keys, *values])]
    grouped = sa.select(*named).select_from(rows).group_by(*keys).subquery("groups")
    # The order contains each key, so it is total.
    order = [grouped.c[number].desc() if descending else grouped.c[number] for number, descending in shape.order]
    numbered = func.row_number(type_=sa.BigInteger()).over(order_by=order).label("place")
    size = parameter("size", sa.Integer())
    *columns, place = sa.select(*grouped.c, numbered).order_by(numbered).limit(size).subquery("first").c
    sizes = [
        func.coalesce(func.octet_length(column), constant(0))
        for column, group in zip(columns, shape.groups, strict=False)
        if group.kind is Kind.TEXT
    ]
    return compiled(sa.select(*columns, together_within_bound(place, sizes)).order_by(place))


def _rows(registry: Registry, shape: SummaryShape) -> Select[Any]:
    """Select the values of groups and measures of each row."""
    making = SelectRows(registry, shape.model, shape.rows)
    joined, ordered = making.order(making.rows)
    values = [key.value for key in ordered]
    keys = [_key(group, value) for group, value in zip(shape.groups, values, strict=False)]
    named = [value.label(f"value {number}") for number, value in enumerate([*keys, *values[len(keys) :]])]
    return planned_for_values(sa.select(*named).select_from(joined).where(*making.where))


def _key(group: Grouping, column: Value) -> Value:
    if group.unit is None:
        return column
    moment: Value = sa.cast(column, sa.TIMESTAMP())
    if group.kind is Kind.TIMESTAMP:
        local = func.timezone(_ZONE, column, type_=sa.TIMESTAMP())
        within = func.greatest(_FIRST, func.least(local, _LAST), type_=sa.TIMESTAMP())
        # GREATEST and LEAST ignore nulls.
        moment = sa.case((column.is_not(None), within))
    return sa.cast(func.date_trunc(constant(group.unit.value), moment), sa.Date())


def _average(value: Value, measure: Measure) -> Value:
    if measure.scale is None:
        return func.avg(value)
    # PostgreSQL's own average has 16 significant digits. With 20 more digits than the answer, rounding twice is exact.
    total = sa.cast(func.sum(value), sa.Numeric(_PRECISION, measure.scale + _MORE_DIGITS))
    return func.round(total / func.count(value), constant(measure.scale))


_FUNCTIONS: Mapping[Function, Callable[[Value, Measure], Value]] = {
    Function.SUM: lambda value, _: func.sum(value),
    Function.AVG: _average,
    Function.MIN: lambda value, _: func.min(value),
    Function.MAX: lambda value, _: func.max(value),
    Function.DISTINCT: lambda value, _: func.count(value.distinct()),
}
