"""Parts that statements writing rows of entities share: parameters, audit columns, locks, lists."""

from collections.abc import Iterable
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
from adapters.postgres.statements.rows import TENANT, Truth, Value, bind_type, living, owner, rows_of
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.kinds import LISTS, Kind

REMEMBERED = 1024
"""Statements kept of each kind, the ones used last: an entity has as many as its callers send different columns."""

BY = parameter("by", sa.Uuid())
AT = parameter("at", sa.DateTime(timezone=True))
IDS = parameter("ids", ARRAY(sa.Uuid()))


def transfer_type(field: FieldModel) -> TypeEngine[Any]:
    """The type in which a column of many rows is sent: lists as JSON text, for an array of arrays cannot be ragged."""
    return sa.Text() if field.kind in LISTS else bind_type(field)


def array_of(field: FieldModel, values: Iterable[Any]) -> list[Any]:
    """Values of the field for a parameter of that type."""
    if field.kind in LISTS:
        return [None if value is None else msgspec.json.encode(value).decode() for value in values]
    return [getattr(value, "value", value) for value in values] if field.kind is Kind.CHOICE else list(values)


def transferred(field: FieldModel, column: Value) -> Value:
    """The value to store of what came as ``transfer_type``: ``'["a", "b"]'`` becomes an array of two texts."""
    if (item := COLUMN_KINDS[field.kind].item) is None:
        return column
    items = sa.select(func.json_array_elements_text(sa.cast(column, JSON())).column_valued("item")).scalar_subquery()
    return sa.case((column.is_not(None), sa.cast(func.array(items), ARRAY(item))))


def owner_columns(model: EntityModel) -> dict[str, Value]:
    return {"tenant_id": TENANT} if model.tenant_owned else {}


def creation_columns(model: EntityModel) -> dict[str, Value]:
    """Columns that tell of a creation; none where the routes only show the entity (``writable=False``)."""
    if not model.has_versions:
        return {}
    return {"created_at": AT, "updated_at": AT, "created_by": BY, "updated_by": BY, "version": constant(1)}


def update_columns(rows: FromClause) -> dict[str, Value]:
    """Columns that tell of a change; none where the routes only show the entity (``writable=False``)."""
    if "version" not in rows.c:
        return {}
    return {"updated_at": AT, "updated_by": BY, "version": next_version(rows)}


def next_version(rows: FromClause) -> Value:
    return rows.c.version + constant(1)


def version_of(rows: FromClause) -> Value:
    """The column ``version``, and 0 where rows have none."""
    # and no constant(), whose value SQLAlchemy leaves out of a RETURNING
    return rows.c.version if "version" in rows.c else sa.literal_column("0", sa.Integer())


def owned_and_living(model: EntityModel, rows: FromClause) -> list[Truth]:
    return [*owner(model, rows), *living(model, rows)]


def is_among(column: Value) -> Truth:
    return column == sa.any_(IDS)


def materialized(select: Select[Any] | sa.CompoundSelect[Any], name: str) -> CTE:
    """Part of a statement (a CTE) that the planner runs once and by itself, so that it locks rows in its own order."""
    return select.cte(name).prefix_with("MATERIALIZED")


def exists_in(rows: FromClause, *conditions: Truth) -> Truth:
    return sa.select().select_from(rows).where(*conditions).exists()


def held_rows(registry: Registry, model: EntityModel, field: FieldModel, ids: SelectBase) -> CTE:
    """The living rows among ``ids``, which ``field`` of ``model`` refers to, locked until the transaction ends."""
    assert field.reference is not None, field.name
    target = registry[field.reference.target]
    rows = rows_of(registry, target, "t")
    found = sa.select(rows.c.id).where(*owned_and_living(target, rows), rows.c.id.in_(ids)).order_by(rows.c.id)
    return materialized(locked_reference(found, registry, model, field), short_name(f"held {field.name}"))


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
    """Whether a tenant's row refers by ``field`` to one that all tenants share."""
    assert field.reference is not None, field.name
    return model.tenant_owned and not registry[field.reference.target].tenant_owned


def stored_columns(model: EntityModel, rows: FromClause) -> list[Value]:
    """The whole row as it is shown, and behind that its id and version: what ``row_encoder.stored`` reads."""
    fields = [value.label(name) for name, value in json_columns(model, rows)]
    # no field has a blank in its name
    return [*fields, rows.c.id.label("row id"), version_of(rows).label("row version")]
