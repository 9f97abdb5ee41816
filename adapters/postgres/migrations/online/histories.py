"""Histories of renamed fields and entities: an online migration renames in their entries, one day at a time."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSON, aggregate_order_by

from adapters.postgres.migrations.online.operations import by_itself, is_online
from adapters.postgres.statements.rows import Truth

_LINES = sa.table(
    "row_history",
    sa.column("entity", sa.Text()),
    sa.column("at", sa.DateTime(timezone=True)),
    sa.column("changes", JSON()),
)
_DAY = timedelta(days=1)


def rename_in_histories(entity: str, old: str, new: str) -> None:
    """Rename a field in the history entries of an entity, by JSON name."""
    # Values stay JSON, so that decimals retain their scale.
    told = sa.func.json_array_elements(_LINES.c.changes).table_valued(
        sa.column("change", JSON()), with_ordinality="place"
    )
    told = told.render_derived(name="told")
    field = told.c.change["field"].astext
    renamed = sa.func.json_build_object(
        "field", sa.case((field == old, new), else_=field), "from", told.c.change["from"], "to", told.c.change["to"]
    )
    changes = sa.select(sa.func.json_agg(aggregate_order_by(renamed, told.c.place)))
    tells = sa.exists(sa.select(sa.literal(1)).select_from(told).where(field == old))
    _change({"changes": changes.scalar_subquery()}, _LINES.c.entity == entity, tells)


def move_histories(old: str, new: str) -> None:
    """Rename a renamed entity in its history entries, by plural."""
    _change({"entity": new}, _LINES.c.entity == old)


def _change(values: Mapping[str, Any], *which: Truth) -> None:
    statement = sa.update(_LINES).values(**values).where(*which)
    if not is_online():
        op.execute(statement)
        return
    with by_itself():
        for day in _days(*which):
            op.execute(statement if day is None else statement.where(_LINES.c.at >= day, _LINES.c.at < day + _DAY))


def _days(*which: Truth) -> Iterator[datetime | None]:
    """Return the UTC days of the history entries; for printed SQL, only None, for all days."""
    if op.get_context().as_sql:
        yield None
        return
    day = sa.func.date_trunc("day", _LINES.c.at, "UTC")
    yield from op.get_bind().execute(sa.select(day).where(*which).distinct().order_by(day)).scalars().all()
