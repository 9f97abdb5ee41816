"""Writes combined with the records of their rows: history and log of changes."""

import sqlalchemy as sa
from sqlalchemy import CTE
from sqlalchemy.sql.base import Executable

from adapters.postgres.entities.changes.change_lines import change_lines
from adapters.postgres.entities.history import DataChange, history_lines
from adapters.postgres.statements.compiled import constant
from application.ports.entities.history import Action
from domain.entities.declaration import EntityModel, Registry


def is_recorded(model: EntityModel) -> bool:
    """Return whether a write of the entity's rows adds records, for which it returns whole rows."""
    return model.declaration.history or model.declaration.changes


def with_records(
    registry: Registry, model: EntityModel, action: Action, change: DataChange, before: CTE | None = None
) -> Executable:
    """Return the change, combined with the records of its rows in one statement if the entity has some."""
    if not is_recorded(model):
        return change
    written = change.returning(*change.table.c).cte("written rows")
    return sa.select(constant(1)).add_cte(*record_lines(registry, model, action, written, before))


def record_lines(
    registry: Registry, model: EntityModel, action: Action, written: CTE, before: CTE | None = None
) -> list[CTE]:
    """Return the CTEs that add the records of a write without links."""
    return [
        *history_lines(model, action, written, before),
        *change_lines(registry, model, action, written, before),
    ]
