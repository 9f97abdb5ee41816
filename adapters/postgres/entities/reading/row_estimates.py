"""How many rows the planner expects the conditions of a page to leave; decision 0019.

PostgreSQL has statistics of all tenants together. Where a condition is expected to leave few rows of a tenant, reading
and sorting the whole tenant seems as cheap as following the index that has the page's order. In a tenant of a million
rows that has many such rows, the first takes seconds and the second a millisecond. A condition that no index finds is
therefore told as one that most rows fulfil: then the index is followed until the page is full.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy import func

from adapters.postgres.schema.copies import is_lowered
from adapters.postgres.statements.rows import Truth
from domain.entities.declaration import EntityModel
from domain.entities.query.kinds import PARTS, leads_an_index
from domain.entities.query.query import Operator, Path

_BY_READING = PARTS | {Operator.NE, Operator.IS_NULL}
"""Operators without an index."""


def may_be_found_by_index(model: EntityModel, path: Path, operator: Operator) -> bool:
    """Return whether an index may find the condition's rows; for related rows the planner decides."""
    if path.steps:
        return True
    field = model.by_name[path.field]
    if is_lowered(model, field):
        # The index contains the lowered copy, which supports only equality.
        return operator in (Operator.EQ, Operator.IN)
    return operator not in _BY_READING and leads_an_index(model, field)


def as_if_most_fulfil(conditions: Sequence[Truth]) -> Truth:
    """Combine the conditions into one that the planner expects 995 of 1,000 rows to fulfil.

    That is its estimate for IS NOT NULL without statistics.
    """
    return func.nullif(sa.and_(*conditions), sa.false(), type_=sa.Boolean()).is_not(None)
