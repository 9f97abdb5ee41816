"""The example catalogue."""

import sqlalchemy as sa
from alembic import op

from adapters.postgres.migrations.online.search_indexes import index_search
from adapters.postgres.migrations.operations import secure_table

revision = "0002"
down_revision = "0001"

TEXT = sa.Text(collation="C")
TIME = sa.DateTime(timezone=True)
UUID = sa.Uuid()


def upgrade() -> None:
    op.create_table(
        "categories",
        sa.Column("tenant_id", UUID, nullable=False),
        sa.Column("id", UUID, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("description", TEXT),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("created_by", UUID),
        sa.Column("updated_by", UUID),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("deleted_at", TIME),
        sa.Column("deleted_by", UUID),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("deleted_with", UUID),
        sa.Column("name$lower", TEXT, sa.Computed('lower(name COLLATE "default")', persisted=True)),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="pk_categories"),
    )
    secure_table("categories", by_tenant=True)
    _index_live_rows("ix_categories_order", "categories", ["tenant_id", "created_at", "id"])
    _index_live_rows("uq_categories_name", "categories", ["tenant_id", "name$lower"], unique=True)
    index_search("categories", ["name"], by_tenant=True)
    op.create_table(
        "products",
        sa.Column("tenant_id", UUID, nullable=False),
        sa.Column("id", UUID, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("sku", TEXT, nullable=False),
        sa.Column("description", TEXT),
        sa.Column("price", sa.Numeric(12, 2), nullable=False),
        sa.Column("stock", sa.Integer(), server_default="0", nullable=False),
        sa.Column("status", TEXT, server_default="draft", nullable=False),
        sa.Column("category_id", UUID),
        sa.Column("released_at", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("created_by", UUID),
        sa.Column("updated_by", UUID),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("deleted_at", TIME),
        sa.Column("deleted_by", UUID),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("deleted_with", UUID),
        sa.Column("price$e2", sa.BigInteger(), sa.Computed("(price * 100::numeric)::bigint", persisted=True)),
        sa.ForeignKeyConstraint(
            ["tenant_id", "category_id"], ["categories.tenant_id", "categories.id"], name="fk_products_category_id"
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="pk_products"),
    )
    secure_table("products", by_tenant=True)
    _index_live_rows("ix_products_by_category_id_price", "products", ["tenant_id", "category_id", "price$e2", "id"])
    op.create_index("ix_products_category_id_order", "products", ["tenant_id", "category_id", "created_at", "id"])
    _index_live_rows("ix_products_order", "products", ["tenant_id", "created_at", "id"])
    _index_live_rows("uq_products_sku", "products", ["tenant_id", "sku"], unique=True)
    index_search("products", ["name", "sku", "description"], by_tenant=True)
    op.create_table(
        "reviews",
        sa.Column("tenant_id", UUID, nullable=False),
        sa.Column("id", UUID, nullable=False),
        sa.Column("product_id", UUID, nullable=False),
        sa.Column("rating", sa.Integer(), nullable=False),
        sa.Column("author", TEXT, nullable=False),
        sa.Column("text", TEXT),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("created_by", UUID),
        sa.Column("updated_by", UUID),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("deleted_at", TIME),
        sa.Column("deleted_by", UUID),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("deleted_with", UUID),
        sa.ForeignKeyConstraint(
            ["tenant_id", "product_id"], ["products.tenant_id", "products.id"], name="fk_reviews_product_id"
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="pk_reviews"),
    )
    secure_table("reviews", by_tenant=True)
    _index_live_rows("ix_reviews_order", "reviews", ["tenant_id", "created_at", "id"])
    _index_live_rows("ix_reviews_own_created_by", "reviews", ["tenant_id", "created_by", "created_at", "id"])
    op.create_index("ix_reviews_product_id_order", "reviews", ["tenant_id", "product_id", "created_at", "id"])
    op.create_table(
        "currencies",
        sa.Column("id", UUID, nullable=False),
        sa.Column("code", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("created_by", UUID),
        sa.Column("updated_by", UUID),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_currencies"),
    )
    secure_table("currencies", by_tenant=False)
    op.create_index("ix_currencies_order", "currencies", ["created_at", "id"])
    op.create_index("uq_currencies_code", "currencies", ["code"], unique=True)


def _index_live_rows(name: str, table: str, columns: list[str], *, unique: bool = False) -> None:
    op.create_index(name, table, columns, unique=unique, postgresql_where=sa.text("NOT is_deleted"))


def downgrade() -> None:
    op.execute("DROP TABLE reviews, products, categories, currencies")
