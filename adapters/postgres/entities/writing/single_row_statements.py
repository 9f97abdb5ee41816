"""The plain statements that write one row of an entity, which is what most writes are.

The result is the row as it is shown, its id and its version; or nothing where something is in the way: the bulk
statement then says what. Decision 0010 has the figures of what they save. Arguments: ``tenant``, ``by``, ``at``,
``id``, for updates ``version`` (which the caller saw, or None), and a value for each column (``value_name``).
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

import sqlalchemy as sa

from adapters.postgres.schema.sql import short_name
from adapters.postgres.statements.compiled import CompiledStatement, compiled, parameter
from adapters.postgres.statements.rows import Truth, Value, bind_type, rows_of, table_of
from adapters.postgres.statements.writing import (
    REMEMBERED,
    creation_columns,
    exists_in,
    locked_reference,
    materialized,
    owned_and_living,
    owner_columns,
    stored_columns,
    update_columns,
    version_of,
)
from domain.entities.declaration import EntityModel, FieldModel, Registry

_ID = parameter("id", sa.Uuid())


def value_name(name: str) -> str:
    return f"value_{name}"


def is_plain(model: EntityModel) -> bool:
    """Whether a write of the entity writes nothing beside the row, and locks references in the usual way."""
    return not model.declaration.history and not model.asks_other_rows


@lru_cache(maxsize=REMEMBERED)
def insert_row(registry: Registry, model: EntityModel, references: tuple[str, ...]) -> CompiledStatement:
    """Inserts a row; ``references`` are the fields that refer to another row, without those whose value is null."""
    table, sent = table_of(registry, model), _sent(model.declared)
    values = {**owner_columns(model), "id": _ID, **sent, **creation_columns(model)}
    row = sa.select(*values.values()).where(*_references_hold(registry, model, references, sent))
    return compiled(sa.insert(table).from_select(list(values), row).returning(*stored_columns(model, table)))


@lru_cache(maxsize=REMEMBERED)
def update_row(
    registry: Registry, model: EntityModel, columns: tuple[str, ...], references: tuple[str, ...]
) -> CompiledStatement:
    table, sent = table_of(registry, model), _sent(model.by_name[name] for name in columns)
    # null is no version: any will do
    version = parameter("version", sa.Integer())
    update = (
        sa.update(table)
        .values({**sent, **update_columns(table)})
        .where(*owned_and_living(model, table), table.c.id == _ID, version.is_(None) | (version_of(table) == version))
        .where(*_references_hold(registry, model, references, sent))
    )
    return compiled(update.returning(*stored_columns(model, table)))


def _sent(fields: Iterable[FieldModel]) -> dict[str, Value]:
    return {field.name: parameter(value_name(field.name), bind_type(field)) for field in fields}


def _references_hold(
    registry: Registry, model: EntityModel, references: Iterable[str], sent: Mapping[str, Value]
) -> list[Truth]:
    """Conditions that the rows referred to are there, which locks them until the transaction ends."""
    conditions = []
    for name in references:
        reference = model.by_name[name].reference
        assert reference is not None, name
        target = registry[reference.target]
        rows = rows_of(registry, target, "t")
        found = sa.select(rows.c.id).where(*owned_and_living(target, rows), rows.c.id == sent[name])
        found = locked_reference(found, registry, model, model.by_name[name])
        # a part of its own: the lock is taken once, and before the row is looked for
        conditions.append(exists_in(materialized(found, short_name(f"held {name}"))))
    return conditions
