"""Statements that delete expired rows in batches, oldest first, each through its own index."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Select, func
from sqlalchemy.dialects.postgresql import ARRAY

from adapters.postgres.statements.compiled import parameter
from domain.retention import RetentionRule

Retained = Mapping[RetentionRule, Select[int]]
"""Statement per rule."""

BEFORE = parameter("before", sa.DateTime(timezone=True))
_MOST = parameter("most", sa.Integer())
_PLACE: ColumnElement[Any] = sa.literal_column("ctid")


def removing(table: sa.Table, age: ColumnElement[Any], *conditions: ColumnElement[bool]) -> Select[int]:
    """Delete up to ``most`` oldest rows with ``age`` at most ``before``; return the number of deleted rows.

    The statement skips locked rows. PostgreSQL checks the conditions again after it locks a row.
    """
    oldest = sa.select(_PLACE).select_from(table).where(age <= BEFORE, *conditions)
    oldest = oldest.order_by(age).limit(_MOST).with_for_update(skip_locked=True)
    places = func.array(oldest.scalar_subquery(), type_=ARRAY(sa.Text()))
    gone = sa.delete(table).where(sa.any_(places) == _PLACE).returning(_PLACE).cte("gone")
    return sa.select(func.count()).select_from(gone)
