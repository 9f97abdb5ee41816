"""Words that statements over entities share: tables, the conditions that every statement needs, parameter types.

``values["tenant"]`` is the tenant's id in the values of every statement that uses `owner`. `shared` needs
``values["sees_all"]`` too.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, FromClause
from sqlalchemy.sql.selectable import NamedFromClause

from adapters.postgres.schema.copies import is_lowered, lowered_name
from adapters.postgres.schema.schema import COLUMN_KINDS, metadata_for
from adapters.postgres.schema.sql import is_soft
from adapters.postgres.statements.compiled import parameter
from domain.entities.declaration import EntityModel, FieldModel, Registry

Value = ColumnElement[Any]
Truth = ColumnElement[bool]

TENANT = parameter("tenant", sa.Uuid())
SEES_ALL = parameter("sees_all", sa.Boolean())


def table_of(registry: Registry, model: EntityModel) -> sa.Table:
    return metadata_for(registry).tables[model.table]


def rows_of(registry: Registry, model: EntityModel, alias: str) -> NamedFromClause:
    """The entity's table under an alias, without any condition: add `owner` and `living`."""
    return table_of(registry, model).alias(alias)


def of_tenant(rows: FromClause) -> Truth:
    """The tenant's own rows: the only condition by which statements name the tenant, beside row-level security."""
    return rows.c.tenant_id == TENANT


def owner(model: EntityModel, rows: FromClause) -> list[Truth]:
    """No condition for entities that all tenants share."""
    return [of_tenant(rows)] if model.tenant_owned else []


def shared(model: EntityModel, rows: FromClause) -> list[Truth]:
    """Rows that are shared with the tenant; no condition for entities whose rows are shared with all tenants."""
    if (name := model.declaration.shared_with) is None:
        return []
    return [sa.or_(SEES_ALL, rows.c[name].is_(None), sa.any_(rows.c[name]) == TENANT)]


def living(model: EntityModel, rows: FromClause) -> list[Truth]:
    """No condition for entities whose rows are deleted for good."""
    return [sa.not_(rows.c.is_deleted)] if is_soft(model) else []


def bind_type(field: FieldModel) -> sa.types.TypeEngine[Any]:
    """The type of a parameter that is compared with the field or stored in it."""
    return COLUMN_KINDS[field.kind].parameter


def without_case(text: Value) -> Value:
    """Text as it is compared without case: by the database's locale, for "C" knows only ASCII letters."""
    # the lowered copies and the unique indexes have the same expression, see schema.sql.without_case
    return sa.func.lower(text.collate("default"))


def unique_without_case(model: EntityModel, name: str, rows: FromClause) -> Value:
    """A field's text as its unique values are compared without case: the lowered copy where the rows have one."""
    field = model.by_name[name]
    copy = lowered_name(field)
    return rows.c[copy] if is_lowered(model, field) and copy in rows.c else without_case(rows.c[name])
