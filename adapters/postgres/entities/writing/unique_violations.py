"""Which field, and in a batch of which rows, a unique value was taken for."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import asyncpg

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.reading.json import quoted
from adapters.postgres.schema.sql import is_soft, sql_type, unique_name, without_case
from domain.entities.declaration import EntityModel, Kind, Unique
from domain.errors import Conflict, FieldError

_PLACE = '"row number"'
TAKEN = "is taken already"
"""Never by which row: it may be one that the caller must not see."""


def named(wire: str, n: int, count: int) -> str:
    """A field of the n-th of so many rows; of one alone the field itself."""
    return wire if count == 1 else f"items[{n}].{wire}"


def of_one(model: EntityModel, error: asyncpg.UniqueViolationError) -> Conflict:
    return _conflict(model, _broken(model, error), [0], 1)


async def of_many(
    connection: ServiceConnection,
    model: EntityModel,
    tenant: list[UUID],
    failed: tuple[asyncpg.UniqueViolationError, Sequence[UUID], Sequence[Mapping[str, object]]],
) -> Conflict:
    """Looks for the rows whose value another living row has, or another of the batch."""
    error, ids, values = failed
    unique = _broken(model, error)
    before = await connection.fetch(_before(model, unique), *tenant, list(ids))
    stored: dict[UUID, Mapping[str, object]] = {row["id"]: dict(row) for row in before}
    whole = [{**stored.get(one, {}), **sent} for one, sent in zip(ids, values, strict=True)]
    keys = [[_plain(row.get(name)) for row in whole] for name in unique.fields]
    found = await connection.fetch(_clashing(model, unique), *tenant, list(ids), *keys)
    return _conflict(model, unique, [row["n"] - 1 for row in found], len(ids))


def _conflict(model: EntityModel, unique: Unique, rows: Sequence[int], count: int) -> Conflict:
    wires = [model.by_name[name].wire for name in unique.fields]
    fields = [FieldError(named(wire, n, count), TAKEN) for n in rows for wire in wires]
    return Conflict(f"{' and '.join(wires)}: {TAKEN}.", fields or [FieldError(wire, TAKEN) for wire in wires])


def _broken(model: EntityModel, error: asyncpg.UniqueViolationError) -> Unique:
    for unique in model.unique:
        if unique_name(model, unique) == error.constraint_name:
            return unique
    raise error


def _before(model: EntityModel, unique: Unique) -> str:
    columns = ", ".join(quoted(name) for name in unique.fields)
    return f"SELECT id, {columns} FROM {quoted(model.table)} t WHERE {_own(model, 't')}t.id = ANY ({_ids(model)})"


def _clashing(model: EntityModel, unique: Unique) -> str:
    first = 3 if model.tenant_owned else 2
    arrays = [f"${first + n}::{sql_type(model.by_name[name])}[]" for n, name in enumerate(unique.fields)]
    names = ", ".join(quoted(name) for name in unique.fields)
    rows = f"unnest({', '.join([_ids(model), *arrays])}) WITH ORDINALITY g (id, {names}, {_PLACE})"
    living = "NOT t.is_deleted AND " if is_soft(model) else ""
    return f"""
    WITH given AS (SELECT * FROM {rows}) SELECT g.{_PLACE} AS n FROM given g
    WHERE EXISTS (SELECT FROM {quoted(model.table)} t
                  WHERE {_own(model, "t")}{living}t.id <> g.id AND {_same(model, unique, "t")})
       OR EXISTS (SELECT FROM given t WHERE t.{_PLACE} <> g.{_PLACE} AND {_same(model, unique, "t")})
    ORDER BY n"""


def _same(model: EntityModel, unique: Unique, alias: str) -> str:
    return " AND ".join(
        f"{_key(model, unique, f'{alias}.{quoted(name)}', name)} = {_key(model, unique, f'g.{quoted(name)}', name)}"
        for name in unique.fields
    )


def _key(model: EntityModel, unique: Unique, column: str, name: str) -> str:
    is_folded = unique.ignore_case and model.by_name[name].kind is Kind.TEXT
    return without_case(column) if is_folded else column


def _own(model: EntityModel, alias: str) -> str:
    return f"{alias}.tenant_id = $1 AND " if model.tenant_owned else ""


def _ids(model: EntityModel) -> str:
    return "$2::uuid[]" if model.tenant_owned else "$1::uuid[]"


def _plain(value: Any) -> Any:
    return getattr(value, "value", value)
