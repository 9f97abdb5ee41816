"""The statement that precedes an update in which rows swap unique values.

PostgreSQL compares each row with the values stored at that moment, and cannot defer the check of a partial unique
index. So this statement first sets the rows aside. It uses the soft delete mark, which removes rows from unique
indexes, or values that no row has. Some unique constraints have no such values, such as one of only booleans or
references. Then one statement deletes the rows and inserts them again, while no other request writes to the table.
Neither a version nor a history records these steps.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import assert_never

import sqlalchemy as sa
from sqlalchemy import func
from sqlalchemy.dialects.postgresql import ARRAY

from adapters.postgres.schema.sql import is_soft, quoted
from adapters.postgres.statements.compiled import CompiledStatement, compiled, constant, parameter
from adapters.postgres.statements.rows import Value, owner, table_of
from adapters.postgres.statements.writing import IDS, REMEMBERED, is_among, transfer_type, transferred
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.kinds import Kind
from domain.entities.markers import Unique

# A control character that users do not type; the row's id follows it.
_MARK = "\x01"


@lru_cache(REMEMBERED)
def set_aside(registry: Registry, model: EntityModel, spared: tuple[FieldModel, ...]) -> CompiledStatement:
    """Remove the rows ``ids`` from every unique index by giving the ``spared`` fields other values."""
    table = table_of(registry, model)
    values: dict[str, Value] = {field.name: _own_value(model, table, field) for field in spared}
    if is_soft(model):
        values["is_deleted"] = sa.true()
    return compiled(sa.update(table).values(values).where(*owner(model, table), is_among(table.c.id)))


def spared_fields(model: EntityModel) -> tuple[FieldModel, ...] | None:
    """Return one field of each unique constraint to change while rows are set aside; None if one has no such field."""
    if is_soft(model):
        return ()
    spared = {unique: _spared(model, unique) for unique in model.unique}
    fields = [field for field in spared.values() if field is not None]
    return tuple(dict.fromkeys(fields)) if len(fields) == len(spared) else None


@lru_cache(REMEMBERED)
def insert_anew(registry: Registry, model: EntityModel) -> CompiledStatement:
    """Delete the rows ``ids`` and insert them with other unique values, in an array (``new_name``) each."""
    table, fields = table_of(registry, model), unique_fields(model)
    gone = sa.delete(table).where(*owner(model, table), is_among(table.c.id)).returning(*table.c).cte("rows before")
    columns = [sa.column("id", sa.Uuid()), *(sa.column(field.name, transfer_type(field)) for field in fields)]
    arrays = [parameter(new_name(field), ARRAY(transfer_type(field))) for field in fields]
    given = func.unnest(IDS, *arrays).table_valued(*columns).render_derived(name="g")
    kept = {column.name: gone.c[column.name] for column in table.c if column.computed is None}
    values = {**kept, **{field.name: transferred(field, given.c[field.name]) for field in fields}}
    # Sorting makes PostgreSQL delete all rows before the first insert.
    rows = sa.select(*values.values()).select_from(gone.join(given, given.c.id == gone.c.id)).order_by(gone.c.id)
    # Without RETURNING, Citus writes the rows by COPY, which row-level security refuses.
    return compiled(sa.insert(table).from_select(list(values), rows).returning(table.c.id))


def lock_table(registry: Registry, model: EntityModel) -> str:
    """Make other writers wait before they begin: a writer waiting for a row would find it gone."""
    return f"LOCK TABLE {quoted(table_of(registry, model).name)} IN EXCLUSIVE MODE"


def unique_fields(model: EntityModel) -> tuple[FieldModel, ...]:
    return tuple(dict.fromkeys(model.by_name[name] for unique in model.unique for name in unique.fields))


def new_name(field: FieldModel) -> str:
    """Return the name of the parameter with the rows' new values."""
    return f"new_{field.name}"


def _spared(model: EntityModel, unique: Unique) -> FieldModel | None:
    fields = [model.by_name[name] for name in unique.fields]
    return next((field for field in fields if field.nullable or _maker_of(field.kind)), None)


def _own_value(model: EntityModel, table: sa.Table, field: FieldModel) -> Value:
    # Nulls are never equal.
    make = None if field.nullable else _maker_of(field.kind)
    return sa.null() if make is None else make(model, table, field)


def _own_text(_: EntityModel, table: sa.Table, __: FieldModel) -> Value:
    return constant(_MARK) + sa.cast(table.c.id, sa.Text())


def _below_all(model: EntityModel, table: sa.Table, field: FieldModel) -> Value:
    rows = table.alias("others")
    lowest = sa.select(func.min(rows.c[field.name])).where(*owner(model, rows)).scalar_subquery()
    return lowest - func.array_position(IDS, table.c.id)


def _maker_of(kind: Kind) -> Callable[[EntityModel, sa.Table, FieldModel], Value] | None:
    """Return a function that makes unused values for a required field of this kind; None if there are none."""
    match kind:
        case Kind.TEXT | Kind.CHOICE:
            return _own_text
        case Kind.INTEGER | Kind.BIG_INTEGER | Kind.DECIMAL:
            return _below_all
        case Kind.FLOAT | Kind.BOOLEAN | Kind.TIMESTAMP | Kind.DATE | Kind.UUID:
            return None
        case Kind.UUIDS | Kind.TEXTS | Kind.LINKS:
            return None
        case _:
            assert_never(kind)
