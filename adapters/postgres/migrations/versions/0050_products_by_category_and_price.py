"""The index of the catalogue's products by category and price, with the scaled copy of the price."""

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0042"

# a project may declare products of its own on this table: without the catalogue's two columns nothing is indexed
_ADD = """
DO $$
BEGIN
    IF (
        SELECT count(*) FROM information_schema.columns
        WHERE table_schema = current_schema() AND table_name = 'products' AND (
            column_name IN ('tenant_id', 'category_id', 'id', 'is_deleted')
            OR (column_name = 'price' AND numeric_precision = 12 AND numeric_scale = 2)
        )
    ) = 5 THEN
        ALTER TABLE products
            ADD COLUMN IF NOT EXISTS "price$e2" bigint GENERATED ALWAYS AS ((price * 100::numeric)::bigint) STORED;
        -- a project that declares the same index has it over the decimal itself
        DROP INDEX IF EXISTS ix_products_by_category_id_price;
        CREATE INDEX ix_products_by_category_id_price ON products (tenant_id, category_id, "price$e2", id)
            WHERE NOT is_deleted;
    END IF;
END
$$"""


def upgrade() -> None:
    op.execute(sa.text(_ADD))
