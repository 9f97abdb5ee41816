"""Words that statements over entities share: tables, the conditions that every statement needs, parameter types.

``values["tenant"]`` is the tenant's id in the values of every statement that uses `owner`. `shared` needs
``values["sees_all"]`` too.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, FromClause
from sqlalchemy.sql.selectable import NamedFromClause

from adapters.postgres.schema.copies import is_lowered, lowered_name
from adapters.postgres.schema.members import MEMBERS, memberships
from adapters.postgres.schema.schema import COLUMN_KINDS, metadata_for
from adapters.postgres.schema.sql import is_soft
from adapters.postgres.statements.compiled import parameter
from domain.entities.declaration import EntityModel, FieldModel, Registry

Value = ColumnElement[Any]
Truth = ColumnElement[bool]

TENANT = parameter("tenant", sa.Uuid())
SEES_ALL = parameter("sees_all", sa.Boolean())


def table_of(registry: Registry, model: EntityModel) -> sa.Table:
    return MEMBERS if model.declaration.is_view else metadata_for(registry).tables[model.table]


def rows_of(registry: Registry, model: EntityModel, alias: str) -> NamedFromClause:
    """Return the entity's table under an alias. The caller adds the conditions `owner` and `living`."""
    return table_of(registry, model).alias(alias)


def key_rows(registry: Registry, model: EntityModel, alias: str) -> FromClause:
    """Return the entity's rows to lock for a reference: those of the table with the key, for members memberships."""
    return memberships(alias) if model.declaration.is_view else rows_of(registry, model, alias)


def of_tenant(rows: FromClause) -> Truth:
    """Return the condition that a row belongs to the current tenant.

    Every statement uses this function; row-level security checks the tenant again.
    """
    return rows.c.tenant_id == TENANT


def owner(model: EntityModel, rows: FromClause) -> list[Truth]:
    """Return the condition that a row belongs to the tenant; always true for entities shared by all tenants."""
    return [of_tenant(rows)] if model.tenant_owned else []


def shared(model: EntityModel, rows: FromClause) -> list[Truth]:
    """Rows that are shared with the tenant; no condition for entities whose rows are shared with all tenants."""
    if (name := model.declaration.shared_with) is None:
        return []
    return [sa.or_(SEES_ALL, rows.c[name].is_(None), sa.any_(rows.c[name]) == TENANT)]


def living(model: EntityModel, rows: FromClause) -> list[Truth]:
    """Match the live rows; no condition for entities with hard delete."""
    return [sa.not_(rows.c.is_deleted)] if is_soft(model) else []


def bind_type(field: FieldModel) -> sa.types.TypeEngine[Any]:
    """Return the SQL type of a parameter that a statement compares with the field or stores in it."""
    return COLUMN_KINDS[field.kind].parameter


def without_case(text: Value) -> Value:
    """Return text for comparison without case, by the database's locale: "C" knows only ASCII letters."""
    # The lowered copies and unique indexes use the same expression, see schema.sql.without_case.
    return sa.func.lower(text.collate("default"))


def unique_without_case(model: EntityModel, name: str, rows: FromClause) -> Value:
    """Return a field's text for comparison of unique values without case: the lowered copy, if any."""
    field = model.by_name[name]
    copy = lowered_name(field)
    return rows.c[copy] if is_lowered(model, field) and copy in rows.c else without_case(rows.c[name])
