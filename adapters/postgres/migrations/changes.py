"""Type changes of a column: which ones lose no value and, for the others, the condition for affected rows."""

from decimal import Decimal
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy import ColumnElement
from sqlalchemy.types import TypeEngine

from adapters.postgres.schema.sql import DIALECT, quoted

_ANY = 1000
"""Digits of a numeric without a precision, before and after the point."""
_NUMBERS = (sa.Integer, sa.Numeric, sa.Float)
_WHOLE = r"^\s*[+-]?\d{1,9}\s*$"
_NUMBER = r"^\s*[+-]?(\d+(\.\d*)?|\.\d+)\s*$"


def keeps_every_value(before: TypeEngine[Any], after: TypeEngine[Any]) -> bool:
    """Return whether the new type can store every value of the old one: ``numeric(8,2)`` to ``numeric(10,2)``."""
    match before, after:
        case (sa.ARRAY(), sa.ARRAY()):
            return keeps_every_value(before.item_type, after.item_type)
        case (sa.ARRAY(), _) | (_, sa.ARRAY()):
            return False
        case (_, sa.String()):
            shortest = before.length if isinstance(before, sa.String) else None
            return after.length is None or (shortest is not None and shortest <= after.length)
        case (sa.Date() | sa.DateTime(), sa.DateTime()) | (sa.Float(), sa.Float()):
            return True
        case (sa.Integer() | sa.Numeric() | sa.Float(), sa.Integer() | sa.Numeric() | sa.Float()):
            return _holds(before, after)
    return type(before) is type(after)


def _holds(before: TypeEngine[Any], after: TypeEngine[Any]) -> bool:
    """Return whether ``after`` holds every number of ``before``."""
    if isinstance(before, sa.Float):
        return False
    if isinstance(after, sa.Float):
        # A double's 53 bits hold every 32-bit integer, but not every 64-bit integer.
        return isinstance(before, sa.Integer) and not isinstance(before, sa.BigInteger)
    return _scale(before) <= _scale(after) and _whole_digits(before) <= _whole_digits(after)


def conversion(before: TypeEngine[Any], after: TypeEngine[Any], column: str) -> str | None:
    """Return ``USING`` for a lossless change if PostgreSQL's conversion depends on the session's time zone."""
    is_timed = isinstance(before, sa.Date) and isinstance(after, sa.DateTime)
    return cast_of(before, after, column) if is_timed else None


def way_back(before: TypeEngine[Any], after: TypeEngine[Any], column: str) -> str | None:
    """Return ``USING`` for a downgrade; None if PostgreSQL converts from ``before`` to ``after`` without it."""
    is_plain = isinstance(after, sa.String) or _are(_NUMBERS, before, after)
    return None if is_plain else cast_of(before, after, column)


def cast_of(before: TypeEngine[Any], after: TypeEngine[Any], column: str) -> str:
    """Return the expression that converts a column; without a cast in PostgreSQL, it reads the text of the value."""
    name, wanted = quoted(column), shown(after)
    match before, after:
        case (sa.Date(), sa.DateTime()):
            return f"timezone('UTC', CAST({name} AS TIMESTAMP))"
        case (sa.DateTime(), sa.Date()):
            return f"CAST(timezone('UTC', {name}) AS DATE)"
        case (sa.Boolean(), _) if isinstance(after, _NUMBERS):
            return f"CAST(CAST({name} AS INTEGER) AS {wanted})"
        case (_, sa.Boolean()) if isinstance(before, _NUMBERS):
            return f"{name} <> 0"
    is_text = isinstance(before, sa.String) or isinstance(after, sa.String)
    if is_text or _are(_NUMBERS, before, after) or _are(sa.ARRAY, before, after):
        return f"CAST({name} AS {wanted})"
    return f"CAST(CAST({name} AS TEXT) AS {wanted})"


def shown(kind: TypeEngine[Any]) -> str:
    """Type for a PostgreSQL cast: ``UUID[]``, not ``ARRAY``."""
    written: str = kind.compile(dialect=DIALECT)
    return written.partition(" COLLATE ")[0]


def _are(kinds: Any, *types: TypeEngine[Any]) -> bool:
    return all(isinstance(kind, kinds) for kind in types)


def suffering(column: ColumnElement[Any], before: TypeEngine[Any], after: TypeEngine[Any]) -> ColumnElement[bool]:
    """Return the condition of rows with a value that would change or fail to convert; all values if unknown."""
    match before, after:
        case (sa.Integer() | sa.Numeric() | sa.Float(), sa.Integer() | sa.Numeric()) if not isinstance(after, sa.Float):
            return _suffering_number(column, after)
        case (sa.DateTime(), sa.Date()):
            at_utc = sa.func.timezone("UTC", column)
            return at_utc != sa.func.date_trunc("day", at_utc)
        case (sa.String(), sa.String()):
            return sa.func.char_length(column) > after.length
        case (sa.String(), sa.Integer()):
            return sa.not_(column.regexp_match(_WHOLE))
        case (sa.String(), sa.Numeric()):
            return sa.not_(column.regexp_match(_NUMBER))
    return column.is_not(None)


def _suffering_number(column: ColumnElement[Any], after: TypeEngine[Any]) -> ColumnElement[bool]:
    exact = sa.cast(column, sa.Numeric())
    if isinstance(after, sa.Integer):
        limit = 2 ** (63 if isinstance(after, sa.BigInteger) else 31)
        return sa.or_(exact != sa.func.trunc(exact), exact < _number(-limit), exact >= _number(limit))
    largest = Decimal(10) ** _whole_digits(after)
    return sa.or_(exact != sa.func.round(exact, _scale(after)), sa.func.abs(exact) >= _number(largest))


def _number(value: int | Decimal) -> ColumnElement[Any]:
    # Cast to numeric, because the bound 2**63 does not fit a 64-bit integer.
    return sa.cast(sa.literal(Decimal(value), sa.Numeric()), sa.Numeric())


def _scale(number: TypeEngine[Any]) -> int:
    if isinstance(number, sa.Integer):
        return 0
    numeric = cast("sa.Numeric[Any]", number)
    return (numeric.scale or 0) if numeric.precision is not None else _ANY


def _whole_digits(number: TypeEngine[Any]) -> int:
    if isinstance(number, sa.Integer):
        return 19 if isinstance(number, sa.BigInteger) else 10
    numeric = cast("sa.Numeric[Any]", number)
    return _ANY if numeric.precision is None else numeric.precision - (numeric.scale or 0)
