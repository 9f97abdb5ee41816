"""Statements that delete rows past their age, the oldest first and some at a time, each through its own index."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Select, func
from sqlalchemy.dialects.postgresql import ARRAY

from adapters.postgres.statements.compiled import parameter
from domain.retention import RetentionRule

Retained = Mapping[RetentionRule, Select[int]]
"""Statement of each rule."""

BEFORE = parameter("before", sa.DateTime(timezone=True))
_MOST = parameter("most", sa.Integer())
_PLACE: ColumnElement[Any] = sa.literal_column("ctid")


def removing(table: sa.Table, age: ColumnElement[Any], *conditions: ColumnElement[bool]) -> Select[int]:
    """Deletes the oldest rows whose ``age`` is at most ``before``, ``most`` of them, and answers how many there were.

    Rows that a request holds are left to the next round; the conditions are checked again under a row's lock.
    """
    oldest = sa.select(_PLACE).select_from(table).where(age <= BEFORE, *conditions)
    oldest = oldest.order_by(age).limit(_MOST).with_for_update(skip_locked=True)
    places = func.array(oldest.scalar_subquery(), type_=ARRAY(sa.Text()))
    gone = sa.delete(table).where(sa.any_(places) == _PLACE).returning(_PLACE).cte("gone")
    return sa.select(func.count()).select_from(gone)
