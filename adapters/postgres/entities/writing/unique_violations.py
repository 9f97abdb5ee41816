"""The field, and in a batch the rows, of a duplicate unique value."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

import asyncpg
import sqlalchemy as sa
from sqlalchemy import FromClause, func
from sqlalchemy.dialects.postgresql import ARRAY

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.schema.sql import unique_name
from adapters.postgres.statements.compiled import CompiledStatement, compiled, parameter
from adapters.postgres.statements.rows import Value, owner, rows_of, unique_without_case
from adapters.postgres.statements.running import fetch
from adapters.postgres.statements.writing import (
    IDS,
    REMEMBERED,
    array_of,
    exists_in,
    is_among,
    materialized,
    owned_and_living,
    transfer_type,
    transferred,
)
from domain.entities.declaration import EntityModel, Registry
from domain.entities.kinds import Kind
from domain.entities.markers import Unique
from domain.errors import Conflict, FieldError

PLACE = "row number"
# Security: do not name the other row, because the caller may not see it.
TAKEN = "is taken already"


class PassedOn(Exception):
    """Rows of a batch swap unique values; ``conflict`` is the error to raise if the swap is impossible."""

    def __init__(self, model: EntityModel, error: asyncpg.UniqueViolationError) -> None:
        super().__init__()
        self.conflict = of_single_row(model, error)


def named(wire: str, n: int, count: int) -> str:
    """Return the field's name for an error: ``items[3].sku`` for the fourth of several rows, else ``sku``."""
    return wire if count == 1 else f"items[{n}].{wire}"


def of_single_row(model: EntityModel, error: asyncpg.UniqueViolationError) -> Conflict:
    return _conflict(model, [(_broken(model, error), [0])], 1)


async def of_many(
    connection: ServiceConnection,
    registry: Registry,
    model: EntityModel,
    tenant: UUID | None,
    failed: tuple[asyncpg.UniqueViolationError, Sequence[UUID], Sequence[Mapping[str, object]]],
) -> Conflict | None:
    """Return a Conflict naming, for each unique constraint, the rows with a value of another live row or row of the
    batch.

    Return None if the values differ once all rows are written.
    """
    error, ids, sent = failed
    _broken(model, error)  # raises the error if the constraint is not the entity's
    taken: list[tuple[Unique, list[int]]] = []
    # Check every constraint, because PostgreSQL reports only the first conflict.
    for unique in model.unique:
        values: dict[str, Any] = {"tenant": tenant, "ids": list(ids)}
        before = await fetch(connection, stored_values(registry, model, unique), values)
        stored: dict[UUID, Mapping[str, object]] = {row["id"]: dict(row) for row in before}
        # A partial update may have sent only some of the unique fields.
        rows = [{**stored.get(row_id, {}), **changed} for row_id, changed in zip(ids, sent, strict=True)]
        for name in unique.fields:
            values[_array_name(name)] = array_of(model.by_name[name], [row.get(name) for row in rows])
        if found := await fetch(connection, clashing_rows(registry, model, unique), values):
            taken.append((unique, [row["n"] - 1 for row in found]))
    return _conflict(model, taken, len(ids)) if taken else None


def _conflict(model: EntityModel, taken: Sequence[tuple[Unique, Sequence[int]]], count: int) -> Conflict:
    wires = [[model.by_name[name].wire for name in unique.fields] for unique, _ in taken]
    fields = [(n, wire) for names, (_, rows) in zip(wires, taken, strict=True) for n in rows for wire in names]
    errors = [FieldError(named(wire, n, count), TAKEN) for n, wire in sorted(fields, key=lambda field: field[0])]
    return Conflict("; ".join(f"{' and '.join(names)}: {TAKEN}" for names in wires) + ".", errors)


def _broken(model: EntityModel, error: asyncpg.UniqueViolationError) -> Unique:
    for unique in model.unique:
        if unique_name(model, unique) == error.constraint_name:
            return unique
    raise error


@lru_cache(REMEMBERED)
def stored_values(registry: Registry, model: EntityModel, unique: Unique) -> CompiledStatement:
    rows = rows_of(registry, model, "t")
    columns = [rows.c.id, *(rows.c[name] for name in unique.fields)]
    return compiled(sa.select(*columns).where(*owner(model, rows), is_among(rows.c.id)))


@lru_cache(REMEMBERED)
def clashing_rows(registry: Registry, model: EntityModel, unique: Unique) -> CompiledStatement:
    """Select the numbers, from 1, of rows with an existing unique value."""
    given = _given_values(model, unique)
    sent, other = given.alias("g"), given.alias("o")
    stored = rows_of(registry, model, "t")
    is_stored = exists_in(
        stored,
        *owned_and_living(model, stored),
        ~is_among(stored.c.id),
        *(_key(model, unique, stored, name) == sent.c[name] for name in unique.fields),
    )
    are_same = [other.c[name] == sent.c[name] for name in unique.fields]
    is_sent_twice = exists_in(other, other.c[PLACE] != sent.c[PLACE], *are_same)
    place = sent.c[PLACE].label("n")
    return compiled(sa.select(place).where(is_stored | is_sent_twice).order_by(place))


def _given_values(model: EntityModel, unique: Unique) -> sa.CTE:
    fields = [model.by_name[name] for name in unique.fields]
    arrays = [parameter(_array_name(field.name), ARRAY(transfer_type(field))) for field in fields]
    columns = [sa.column("id", sa.Uuid()), *(sa.column(field.name, transfer_type(field)) for field in fields)]
    rows = func.unnest(IDS, *arrays).table_valued(*columns, with_ordinality=PLACE).render_derived(name="g")
    sent = [transferred(field, _key(model, unique, rows, field.name)).label(field.name) for field in fields]
    # Lower in advance: under row-level security, an index cannot serve a comparison with lower() of a column.
    return materialized(sa.select(rows.c.id, rows.c[PLACE], *sent), "given rows")


def _array_name(name: str) -> str:
    return f"each_{name}"


def _key(model: EntityModel, unique: Unique, rows: FromClause, name: str) -> Value:
    is_folded = unique.ignore_case and model.by_name[name].kind is Kind.TEXT
    return unique_without_case(model, name, rows) if is_folded else rows.c[name]
