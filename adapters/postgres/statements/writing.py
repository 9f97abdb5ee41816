"""Shared parts of statements that write rows of entities: parameters, audit columns, locks, lists."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy import CTE, FromClause, Select, SelectBase, func
from sqlalchemy.dialects.postgresql import ARRAY, JSON
from sqlalchemy.types import TypeEngine

from adapters.postgres.schema.schema import COLUMN_KINDS
from adapters.postgres.schema.sql import short_name
from adapters.postgres.statements.compiled import constant, parameter
from adapters.postgres.statements.json_values import json_columns
from adapters.postgres.statements.owning import column_of, is_own
from adapters.postgres.statements.rows import TENANT, Truth, Value, bind_type, key_rows, living, owner
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.kinds import LISTS, Kind
from domain.entities.owning import Limits

REMEMBERED = 1024
"""Maximum number of cached statements of each kind: an entity has one for each set of columns that clients send."""

# A field name has no blank.
SEEN = "is seen"
BY = parameter("by", sa.Uuid())
AT = parameter("at", sa.DateTime(timezone=True))
IDS = parameter("ids", ARRAY(sa.Uuid()))


def transfer_type(field: FieldModel) -> TypeEngine[Any]:
    """Return the type to send a column of many rows in: lists as JSON text, because an array of arrays cannot be
    ragged.
    """
    return sa.Text() if field.kind in LISTS else bind_type(field)


def array_of(field: FieldModel, values: Iterable[Any]) -> list[Any]:
    """Return the field's values for a parameter of that type."""
    if field.kind in LISTS:
        return [None if value is None else msgspec.json.encode(value).decode() for value in values]
    return [getattr(value, "value", value) for value in values] if field.kind is Kind.CHOICE else list(values)


def transferred(field: FieldModel, column: Value) -> Value:
    """Convert a ``transfer_type`` value for storage: ``'["a", "b"]'`` becomes an array of two texts."""
    if (item := COLUMN_KINDS[field.kind].item) is None:
        return column
    items = sa.select(func.json_array_elements_text(sa.cast(column, JSON())).column_valued("item")).scalar_subquery()
    return sa.case((column.is_not(None), sa.cast(func.array(items), ARRAY(item))))


def owner_columns(model: EntityModel) -> dict[str, Value]:
    return {"tenant_id": TENANT} if model.tenant_owned else {}


def creation_columns(model: EntityModel) -> dict[str, Value]:
    """Return the columns that record a creation; none for entities with read-only routes (``writable=False``)."""
    if not model.has_versions:
        return {}
    return {"created_at": AT, "updated_at": AT, "created_by": BY, "updated_by": BY, "version": constant(1)}


def update_columns(rows: FromClause) -> dict[str, Value]:
    """Return the columns that record a change; none for entities with read-only routes (``writable=False``)."""
    if "version" not in rows.c:
        return {}
    return {"updated_at": AT, "updated_by": BY, "version": next_version(rows)}


def next_version(rows: FromClause) -> Value:
    return rows.c.version + constant(1)


def version_of(rows: FromClause) -> Value:
    """Return the column ``version``, or 0 for rows without versions."""
    # SQLAlchemy omits the value of constant() from RETURNING.
    return rows.c.version if "version" in rows.c else sa.literal_column("0", sa.Integer())


def owned_and_living(model: EntityModel, rows: FromClause) -> list[Truth]:
    return [*owner(model, rows), *living(model, rows)]


def is_among(column: Value) -> Truth:
    return column == sa.any_(IDS)


def materialized(select: Select[Any] | sa.CompoundSelect[Any], name: str) -> CTE:
    """Return a CTE that PostgreSQL runs once and separately, so that the CTE locks rows in its own order."""
    return select.cte(name).prefix_with("MATERIALIZED")


def exists_in(rows: FromClause, *conditions: Truth) -> Truth:
    return sa.select().select_from(rows).where(*conditions).exists()


def held_rows(registry: Registry, model: EntityModel, field: FieldModel, ids: SelectBase, limits: Limits) -> CTE:
    """The living rows among ``ids``, which ``field`` of ``model`` refers to, locked until the transaction ends.

    ``seen_among`` selects the rows that a caller with the limits sees.
    """
    assert field.target is not None, field.name
    target = registry[field.target]
    rows = key_rows(registry, target, "t")
    seen = [is_own(registry, target, column_of(rows), "read").label(SEEN)] if limits.hide(target) else []
    found = sa.select(rows.c.id, *seen).where(*owned_and_living(target, rows), rows.c.id.in_(ids)).order_by(rows.c.id)
    return materialized(locked_reference(found, registry, model, field), short_name(f"held {field.name}"))


def seen_among(held: CTE) -> Select[Any]:
    """Select the ids of ``held_rows`` that the caller sees."""
    return sa.select(held.c.id).where(*([held.c[SEEN]] if SEEN in held.c else []))


def locked_reference(rows: Select[Any], registry: Registry, model: EntityModel, field: FieldModel) -> Select[Any]:
    """The statement that selects rows that ``field`` of ``model`` refers to, with their lock.

    It is ``FOR KEY SHARE``, as of the foreign key itself, which lets others change the row. A deletion locks its rows
    ``FOR UPDATE`` before it marks them, so that one of the two waits for the other. A rule that asks for other rows
    locks them for update: two writes that had shared them would wait for each other. It shares rows of all tenants, or
    a tenant's writes would stop those of the others.
    """
    if not model.asks_other_rows:
        return rows.with_for_update(read=True, key_share=True)
    return rows.with_for_update(read=is_foreign(registry, model, field))


def is_foreign(registry: Registry, model: EntityModel, field: FieldModel) -> bool:
    """Return whether a tenant's row references by ``field`` a row shared by all tenants."""
    assert field.target is not None, field.name
    return model.tenant_owned and not registry[field.target].tenant_owned


def stored_columns(
    model: EntityModel, rows: FromClause, links: Mapping[str, Value] = MappingProxyType({})
) -> list[Value]:
    """Return the whole row as shown, then its id and version, as ``row_encoder.stored`` reads them.

    ``links`` are values of fields without a column in ``rows``.
    """
    fields = [value.label(name) for name, value in json_columns(model, rows, links=links)]
    # no field name has a blank
    return [*fields, rows.c.id.label("row id"), version_of(rows).label("row version")]
