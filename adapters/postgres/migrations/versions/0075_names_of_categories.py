"""The lowered copy of the catalogue's category names, with their unique index over it."""

import sqlalchemy as sa
from alembic import op

revision = "0075"
down_revision = "0074"

# a project may declare categories of its own on this table: only the catalogue's index is made anew
_ADD = """
DO $$
BEGIN
    IF EXISTS (
        SELECT FROM pg_index i
        WHERE i.indexrelid = to_regclass('uq_categories_name') AND i.indisunique AND i.indnkeyatts = 2
        AND pg_get_indexdef(i.indexrelid, 1, true) = 'tenant_id'
        AND pg_get_indexdef(i.indexrelid, 2, true) LIKE 'lower(%name%COLLATE%'
        AND pg_get_expr(i.indpred, i.indrelid) LIKE '%NOT is_deleted%'
    ) THEN
        DROP INDEX uq_categories_name;
        ALTER TABLE categories ADD COLUMN IF NOT EXISTS "name$lower" text COLLATE "C"
            GENERATED ALWAYS AS (lower(name COLLATE "default")) STORED;
        CREATE UNIQUE INDEX uq_categories_name ON categories (tenant_id, "name$lower") WHERE NOT is_deleted;
    END IF;
END
$$"""


def upgrade() -> None:
    op.execute(sa.text(_ADD))
