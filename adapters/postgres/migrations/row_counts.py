"""Counts of rows that block a change; the service counts them before it writes the migration."""

from typing import Any

import asyncpg
import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, FromClause, Table, TableClause
from sqlalchemy.exc import DBAPIError

from adapters.postgres.connection.driver_errors import causes
from adapters.postgres.schema.sql import DIALECT

_NOT_THERE = (asyncpg.SyntaxOrAccessError, asyncpg.DataError)

SHOWN = 3
"""Examples shown in a note."""


class Duplicates(Struct, frozen=True):
    """Duplicate values: their number, some examples, and the query that finds all."""

    number: int
    examples: tuple[str, ...]
    query: str


def row_count(connection: Connection, table: str, condition: ColumnElement[bool] | None = None) -> int:
    """Count the rows for which ``condition`` holds; 0 if the database lacks the table or a column."""
    statement = sa.select(sa.func.count()).select_from(sa.table(table))
    counted = statement if condition is None else statement.where(condition)
    return int((_rows(connection, counted) or [(0,)])[0][0])


def duplicates(
    connection: Connection, table: Table, keys: list[ColumnElement[Any]], where: ColumnElement[bool] | None
) -> Duplicates | None:
    """Return values that a unique index over ``keys`` would refuse, or None."""
    # `true`: a unique constraint of only new columns has no nullable key
    known = sa.and_(sa.true(), *(key.is_not(None) for key in keys), *(() if where is None else (where,)))
    # Read stored values: the same migration may change a key's type.
    read: list[ColumnElement[Any]] = [sa.type_coerce(key, sa.types.NullType()) for key in keys]
    grouped = sa.select(*read, sa.func.count().label("rows")).select_from(table).where(known).group_by(*keys)
    # Order by columns for a stable result.
    query = grouped.having(sa.func.count() > 1).order_by(*keys)
    found = _rows(connection, query)
    if not found:
        return None
    examples = tuple(", ".join(map(str, row[:-1])) for row in found[:SHOWN])
    return Duplicates(len(found), examples, _text(query))


def dangling(
    connection: Connection, source: TableClause, referred: FromClause, pairs: list[tuple[str, str]]
) -> tuple[int, str] | None:
    """Return the number of dangling references and the query for them; soft-deleted targets are valid."""
    same = [referred.c[remote] == source.c[local] for local, remote in pairs]
    lost: sa.Select[Any] = sa.select(sa.literal_column("*")).select_from(source)
    lost = lost.where(*(source.c[local].is_not(None) for local, _ in pairs))
    lost = lost.where(~sa.select(sa.literal_column("1")).select_from(referred).where(*same).correlate(source).exists())
    rows = _rows(connection, lost.with_only_columns(sa.func.count()))
    number = int(rows[0][0]) if rows else 0
    return (number, _text(lost)) if number else None


def _text(query: sa.Select[Any]) -> str:
    return " ".join(str(query.compile(dialect=DIALECT, compile_kwargs={"literal_binds": True})).split())


def _rows(connection: Connection, statement: sa.Select[Any]) -> list[Any]:
    try:
        with connection.begin_nested():
            return list(connection.execute(statement).all())
    except DBAPIError as error:
        # A new or converted column of this migration has no values to count. Other errors, such as a lock, say nothing
        # about rows.
        if any(isinstance(cause, _NOT_THERE) for cause in causes(error)):
            return []
        raise
