"""Statements that PostgreSQL plans for the values of each execution; decision 0019."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import Select, func

from adapters.postgres.statements.compiled import constant, parameter

IS_PLANNED = "is planned"
"""The parameter of each statement that ``planned_for_values`` returns. Its value is true."""

_MANY = constant(10**9)


def planned_for_values(statement: Select[Any]) -> Select[Any]:
    """The statement with a condition that is always true and makes a plan for any values too expensive.

    From the sixth execution of a prepared statement on, PostgreSQL compares the estimated costs of the plans for the
    values with that of a plan for any values. In a plan for the values the parameter is a constant: the planner removes
    the condition. In a plan for any values a subquery over 10^18 rows remains, which no execution reaches.
    """
    rows = [func.generate_series(constant(1), _MANY).alias(f"any {number}") for number in range(2)]
    is_expensive = sa.select(func.count()).select_from(*rows).scalar_subquery() > constant(0)
    return statement.where(sa.or_(parameter(IS_PLANNED, sa.Boolean()), is_expensive))
