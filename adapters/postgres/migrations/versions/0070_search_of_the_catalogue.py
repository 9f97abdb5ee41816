"""The indexes that searches of applications and of the catalogue ask, beside reads and writes."""

import sqlalchemy as sa
from alembic import op

from adapters.postgres.migrations.online.search_indexes import index_search

revision = "0070"
down_revision = "0068"
online = True

_SHARED = {"applications": ["name"]}
_SEARCHED = {"categories": ["name"], "products": ["name", "sku", "description"]}


def upgrade() -> None:
    for table, fields in _SHARED.items():
        index_search(table, fields, by_tenant=False)
    for table, fields in _SEARCHED.items():
        if op.get_context().as_sql or _is_ours(table, fields):
            index_search(table, fields)


def _is_ours(table: str, fields: list[str]) -> bool:
    # a project may declare an entity of its own on this table, with other fields
    inspector = sa.inspect(op.get_bind())
    if not inspector.has_table(table):
        return False
    texts = {column["name"] for column in inspector.get_columns(table) if isinstance(column["type"], sa.Text)}
    names = {column["name"] for column in inspector.get_columns(table)}
    return {"tenant_id", "id", "is_deleted"} <= names and texts.issuperset(fields)
