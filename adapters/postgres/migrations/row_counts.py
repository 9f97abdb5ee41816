"""Rows that stand in the way of a change, counted before its migration is written."""

from typing import Any

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Table
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError

SHOWN = 3
"""Examples that a note shows."""


class Duplicates(Struct, frozen=True):
    """Values that stand in several rows: their number, some of them, and the query that finds all."""

    number: int
    examples: tuple[str, ...]
    query: str


def row_count(connection: Connection, table: str, condition: ColumnElement[bool] | None = None) -> int:
    """Number of rows for which ``condition`` holds; 0 when the database has not its table or columns yet."""
    statement = sa.select(sa.func.count()).select_from(sa.table(table))
    counted = statement if condition is None else statement.where(condition)
    return int((_rows(connection, counted) or [(0,)])[0][0])


def duplicates(
    connection: Connection, table: Table, keys: list[ColumnElement[Any]], where: ColumnElement[bool] | None
) -> Duplicates | None:
    """Values that a unique index over ``keys`` would refuse; None when there are none."""
    known = sa.and_(*(key.is_not(None) for key in keys), *(() if where is None else (where,)))
    # read as they are stored: the same migration may give a key its declared type
    read: list[ColumnElement[Any]] = [sa.type_coerce(key, sa.types.NullType()) for key in keys]
    grouped = sa.select(*read, sa.func.count().label("rows")).select_from(table).where(known).group_by(*keys)
    # the whole query is shown to a person: in the order of its columns, it tells the same at each run
    query = grouped.having(sa.func.count() > 1).order_by(*keys)
    found = _rows(connection, query)
    if not found:
        return None
    examples = tuple(", ".join(map(str, row[:-1])) for row in found[:SHOWN])
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    text = query.compile(dialect=dialect, compile_kwargs={"literal_binds": True})
    return Duplicates(len(found), examples, " ".join(str(text).split()))


def _rows(connection: Connection, statement: sa.Select[Any]) -> list[Any]:
    try:
        with connection.begin_nested():
            return list(connection.execute(statement).all())
    except DBAPIError:
        # A column that the same migration adds has no values yet, and so nothing to count.
        return []
