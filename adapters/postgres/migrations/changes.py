"""Changes of a column's type: which keep every value, and the condition of the rows that another one would hurt."""

from decimal import Decimal
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy import ColumnElement
from sqlalchemy.types import TypeEngine

_WHOLE = r"^\s*[+-]?\d{1,9}\s*$"
_NUMBER = r"^\s*[+-]?(\d+(\.\d*)?|\.\d+)\s*$"


def keeps_every_value(before: TypeEngine[Any], after: TypeEngine[Any]) -> bool:
    """Whether each value of one type has its like in the other: true for ``numeric(8,2)`` to ``numeric(10,2)``."""
    match before, after:
        case (sa.ARRAY(), sa.ARRAY()):
            return keeps_every_value(before.item_type, after.item_type)
        case (sa.ARRAY(), _) | (_, sa.ARRAY()):
            return False
        case (sa.String(), sa.String()):
            return after.length is None or (before.length is not None and before.length <= after.length)
        case (_, sa.String()):
            return after.length is None
        case (sa.Integer(), sa.Numeric()) if not isinstance(after, sa.Float):
            return _whole_digits(after) >= _digits(before)
        case (sa.Integer(), sa.Float()):
            return not isinstance(before, sa.BigInteger)
        case (sa.Integer(), sa.Integer()):
            return _digits(before) <= _digits(after)
        case (sa.Float(), sa.Float()):
            return True
        case (sa.Numeric(), sa.Numeric()) if not isinstance(before, sa.Float) and not isinstance(after, sa.Float):
            return (before.scale or 0) <= (after.scale or 0) and _whole_digits(before) <= _whole_digits(after)
        case (sa.Date(), sa.DateTime()) | (sa.DateTime(), sa.DateTime()):
            return True
    return type(before) is type(after)


def conversion(before: TypeEngine[Any], after: TypeEngine[Any], column: str) -> str | None:
    """``USING`` of a change that keeps every value, where PostgreSQL's own depends on the session's time zone."""
    if isinstance(before, sa.Date) and isinstance(after, sa.DateTime):
        return str(sa.func.timezone(sa.literal_column("'UTC'"), sa.cast(sa.column(column), sa.TIMESTAMP())))
    return None


def suffering(column: ColumnElement[Any], before: TypeEngine[Any], after: TypeEngine[Any]) -> ColumnElement[bool]:
    """Condition of the rows whose value would change or could not be converted; every value where that is unknown."""
    is_number = isinstance(before, sa.Numeric | sa.Integer)
    if is_number and isinstance(after, sa.Integer):
        limit = 2 ** (63 if isinstance(after, sa.BigInteger) else 31)
        return sa.or_(column != sa.func.trunc(column), column < _number(-limit), column >= _number(limit))
    if is_number and isinstance(after, sa.Numeric) and not isinstance(after, sa.Float):
        exact = sa.cast(column, sa.Numeric())
        largest = Decimal(10) ** _whole_digits(after)
        return sa.or_(exact != sa.func.round(exact, after.scale or 0), sa.func.abs(exact) >= _number(largest))
    if isinstance(before, sa.DateTime) and isinstance(after, sa.Date):
        at_utc = sa.func.timezone("UTC", column)
        return at_utc != sa.func.date_trunc("day", at_utc)
    if isinstance(before, sa.String) and isinstance(after, sa.String):
        return sa.func.char_length(column) > after.length
    if isinstance(before, sa.String) and isinstance(after, sa.Integer):
        return sa.not_(column.regexp_match(_WHOLE))
    if isinstance(before, sa.String) and isinstance(after, sa.Numeric):
        return sa.not_(column.regexp_match(_NUMBER))
    return column.is_not(None)


def _number(value: int | Decimal) -> ColumnElement[Any]:
    # numeric, for the bound of a 64-bit integer is itself no such integer
    return sa.cast(sa.literal(Decimal(value), sa.Numeric()), sa.Numeric())


def _digits(whole: TypeEngine[Any]) -> int:
    return 19 if isinstance(whole, sa.BigInteger) else 5 if isinstance(whole, sa.SmallInteger) else 10


def _whole_digits(number: TypeEngine[Any]) -> int:
    numeric = cast("sa.Numeric[Any]", number)
    # numeric without a precision takes any number
    return 1000 if numeric.precision is None else numeric.precision - (numeric.scale or 0)
