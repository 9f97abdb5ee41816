"""The statement before an update whose rows pass unique values on to each other, such as two rows that swap theirs.

PostgreSQL compares each row with what is stored at that moment, and a unique index over living rows alone cannot wait
for the end of the statement. So the rows are set aside first: where a deletion marks rows, by that mark, which takes
them out of every unique index; elsewhere by values that no row has. No version and no history tells of it.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache

import sqlalchemy as sa
from sqlalchemy import func

from adapters.postgres.schema.sql import is_soft
from adapters.postgres.statements.compiled import CompiledStatement, compiled, constant
from adapters.postgres.statements.rows import Value, owner, table_of
from adapters.postgres.statements.writing import IDS, REMEMBERED, is_among
from domain.entities.declaration import EntityModel, FieldModel, Kind, Registry, Unique

# a control character, which no person types, and the id of the row
_MARK = "\x01"


@lru_cache(REMEMBERED)
def set_aside(registry: Registry, model: EntityModel) -> CompiledStatement | None:
    """Takes the rows ``ids`` out of every unique index; None where an entity has only values that cannot be spared."""
    table, spared = table_of(registry, model), spared_fields(model)
    if spared is None:
        return None
    values: dict[str, Value] = {field.name: _own_value(model, table, field) for field in spared}
    if is_soft(model):
        values["is_deleted"] = sa.true()
    return compiled(sa.update(table).values(values).where(*owner(model, table), is_among(table.c.id)))


def spared_fields(model: EntityModel) -> list[FieldModel] | None:
    """Fields that have another value while rows are set aside, one of each unique; None where a unique has no such."""
    if is_soft(model):
        return []
    spared = {unique: _spared(model, unique) for unique in model.unique}
    fields = [field for field in spared.values() if field is not None]
    return list(dict.fromkeys(fields)) if len(fields) == len(spared) else None


def _spared(model: EntityModel, unique: Unique) -> FieldModel | None:
    fields = [model.by_name[name] for name in unique.fields]
    return next((field for field in fields if field.nullable or field.kind in _OWN), None)


def _own_value(model: EntityModel, table: sa.Table, field: FieldModel) -> Value:
    # nulls are never equal
    return sa.null() if field.nullable else _OWN[field.kind](model, table, field)


def _own_text(_: EntityModel, table: sa.Table, __: FieldModel) -> Value:
    return constant(_MARK) + sa.cast(table.c.id, sa.Text())


def _below_all(model: EntityModel, table: sa.Table, field: FieldModel) -> Value:
    rows = table.alias("others")
    lowest = sa.select(func.min(rows.c[field.name])).where(*owner(model, rows)).scalar_subquery()
    return lowest - func.array_position(IDS, table.c.id)


_OWN: Mapping[Kind, Callable[[EntityModel, sa.Table, FieldModel], Value]] = {
    Kind.TEXT: _own_text,
    Kind.INTEGER: _below_all,
    Kind.BIG_INTEGER: _below_all,
    Kind.DECIMAL: _below_all,
}
"""Values that no row has, by the kind of a required field."""
