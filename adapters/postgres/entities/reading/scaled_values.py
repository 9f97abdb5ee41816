"""Comparisons of scaled copies with decimals of any digits: each holds for the same rows as that of the decimals."""

from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import func
from sqlalchemy.dialects.postgresql import ARRAY

from adapters.postgres.schema.copies import MOST_DIGITS
from adapters.postgres.statements.compiled import constant
from adapters.postgres.statements.rows import Truth, Value
from domain.entities.declaration import FieldModel
from domain.entities.query.query import Operator

# larger than every copy, and not too large for its type
_LIMIT = 10**MOST_DIGITS

Compare = Callable[[Value, Value], Truth]

# no whole number lies between a value and the next one below or above it: ``price >= 1.005`` is ``price$e2 >= 101``
_RANGES: Mapping[Operator, tuple[Compare, Callable[..., Value]]] = {
    Operator.GT: (lambda column, value: column > value, func.floor),
    Operator.GTE: (lambda column, value: column >= value, func.ceil),
    Operator.LT: (lambda column, value: column < value, func.ceil),
    Operator.LTE: (lambda column, value: column <= value, func.floor),
}


def scaled_condition(field: FieldModel, column: Value, operator: Operator, value: Value) -> Truth:
    """The condition on a scaled copy: every operator of decimals but NE."""
    if operator in _RANGES:
        compare, rounded = _RANGES[operator]
        return compare(column, _whole(rounded(_bounded(_scaled(field, value)))))
    if operator is Operator.EQ:
        return column == _exact(field, value)
    if operator is Operator.IN:
        item = func.unnest(value).column_valued("item")
        return column == sa.any_(
            func.array(sa.select(_exact(field, item)).scalar_subquery(), type_=ARRAY(sa.BigInteger()))
        )
    assert operator is Operator.IS_NULL, operator
    return column.is_(None) == value


def scaled_key(field: FieldModel, value: Value) -> Value:
    """A cursor's value, whose digits the field can hold, as it is compared with the copy."""
    return _whole(_bounded(_scaled(field, value)))


def _exact(field: FieldModel, value: Value) -> Value:
    """The copy of a value; null, which equals none, for one that no copy can have."""
    scaled = _scaled(field, value)
    can_be = sa.and_(scaled == func.trunc(scaled), func.abs(scaled) < _number(_LIMIT))
    return sa.case((can_be, _whole(scaled)))


def _scaled(field: FieldModel, value: Value) -> Value:
    assert field.money is not None, field.name
    return sa.type_coerce(value, sa.Numeric()) * _number(10**field.money.scale)


def _bounded(scaled: Value) -> Value:
    return func.least(func.greatest(scaled, _number(-_LIMIT)), _number(_LIMIT))


def _whole(scaled: Value) -> Value:
    return sa.cast(scaled, sa.BigInteger())


def _number(value: int) -> sa.BindParameter[Any]:
    return constant(value, sa.Integer())
