"""Partitions of months or days, created ahead of time, and dropped whole after their retention.

Only the table's owner may create and drop them. Rows without a partition are in ``…_rest``, so that PostgreSQL
refuses no row. The service deletes these rows one by one.
"""

from datetime import datetime
from functools import cache
from typing import Any

import asyncpg
import sqlalchemy as sa
from sqlalchemy import ColumnElement, func
from sqlalchemy.dialects.postgresql import ARRAY

from adapters.postgres.connection.connections import Connection
from adapters.postgres.schema.parts import InParts, making
from adapters.postgres.schema.sql import ASYNCPG_DIALECT, on_table
from adapters.postgres.statements.compiled import CompiledStatement, compiled, parameter

_IS_OWN = "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = $1::text::regclass"

# For each partition: whether it has bounds (only the default partition has none), and whether all its rows are older
# than $2.
_PARTS = """
SELECT name, low IS NOT NULL AS is_of_calendar, coalesce(CASE
    WHEN high ~ '^[0-9a-f-]{36}$' THEN to_timestamp(('x' || left(replace(high, '-', ''), 12))::bit(48)::bigint / 1000.0)
    ELSE high::timestamptz END <= $2, false) AS is_over
FROM (
    SELECT c.relname::text AS name,
        substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \\(''([^'']+)''\\)') AS low,
        substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \\(''([^'']+)''\\)') AS high
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = $1::text::regclass) parts
ORDER BY high, name"""
# Readers and writers queue behind a waiting drop: give up soon, and retry an hour later.
_SOON = "SELECT set_config('lock_timeout', '500ms', false)"
_DROP = "DROP TABLE %(fullname)s"

# A ctid is unique only in one table, so delete rows in their partition.
_PLACE: ColumnElement[str] = sa.literal_column("ctid", sa.Text())
_BEFORE = parameter("before", sa.DateTime(timezone=True))
_MOST = parameter("most", sa.Integer())


async def is_own(connection: Connection, parted: InParts) -> bool:
    """Return whether the login owns the table."""
    return bool(await connection.fetchval(_IS_OWN, parted.table))


async def make_parts(connection: Connection, parted: InParts) -> None:
    """Create missing partitions of this month or day, and the next ones."""
    await connection.execute(str(making(parted).compile(dialect=ASYNCPG_DIALECT)))


async def forget(connection: Connection, parted: InParts, before: datetime, most: int) -> int:
    """Drop partitions that ended by ``before``, or delete up to ``most`` rows of the default partition.

    Returns the number of removed rows. A partition in use for longer than half a second stays until the next run.
    """
    await connection.execute(_SOON)
    dropped = deleted = 0
    for part in await connection.fetch(_PARTS, parted.table, before):
        if part["is_over"]:
            dropped += await _drop(connection, part["name"])
        elif not part["is_of_calendar"] and deleted < most:
            statement = delete_statement(parted, part["name"])
            arguments = statement.arguments({"before": before, "most": most - deleted})
            deleted += await connection.fetchval(statement.text, *arguments)
    return dropped + deleted


async def _drop(connection: Connection, part: str) -> int:
    counting = compiled(sa.select(func.count()).select_from(sa.table(part)))
    number: int = await connection.fetchval(counting.text)
    try:
        await connection.execute(on_table(part, _DROP))
    except asyncpg.LockNotAvailableError:
        return 0
    return number


@cache
def delete_statement(parted: InParts, part: str) -> CompiledStatement:
    """Delete up to ``most`` rows of a partition up to ``before``; return their number."""
    rows = sa.table(part)
    old = sa.select(_PLACE.label("place")).select_from(rows)
    age: ColumnElement[datetime] = sa.column(parted.age, _BEFORE.type, _selectable=rows)
    old = old.where(age <= _BEFORE)
    if parted.is_by_tenant:
        # By tenant, in index order; tenants are never deleted permanently.
        tenants = sa.table("tenants", sa.column("id"))
        owner: ColumnElement[Any] = sa.column("tenant_id", _selectable=rows)
        each = old.where(owner == tenants.c.id).order_by(age).limit(_MOST).lateral("old")
        old = sa.select(each.c.place).select_from(tenants.join(each, sa.true()))
    places = func.array(old.limit(_MOST).scalar_subquery(), type_=ARRAY(sa.Text()))
    gone = sa.delete(rows).where(sa.any_(places) == _PLACE).returning(_PLACE).cte("gone")
    return compiled(sa.select(func.count()).select_from(gone))
