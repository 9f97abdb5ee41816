"""The example catalogue, and the entities of the service itself."""

import sqlalchemy as sa
from alembic import op

from adapters.postgres.migrations.operations import secure_table

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "applications",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("app_id", sa.Text(collation="C"), nullable=False),
        sa.Column("name", sa.Text(collation="C"), nullable=False),
        sa.Column("is_active", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("allowed_tenant_ids", sa.ARRAY(sa.Uuid()), nullable=True),
        sa.Column("required_permission", sa.Text(collation="C"), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("updated_by", sa.Uuid(), nullable=True),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted_by", sa.Uuid(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_applications"),
    )
    secure_table("applications", by_tenant=False)
    op.create_index(
        "ix_applications_order",
        "applications",
        ["created_at", "id"],
        unique=False,
        postgresql_where=sa.text("NOT is_deleted"),
    )
    op.create_index(
        "uq_applications_app_id", "applications", ["app_id"], unique=True, postgresql_where=sa.text("NOT is_deleted")
    )
    op.create_table(
        "audit_events",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("actor_id", sa.Uuid(), nullable=True),
        sa.Column("action", sa.Text(collation="C"), nullable=False),
        sa.Column("target_id", sa.Uuid(), nullable=True),
        sa.Column("address", sa.Text(collation="C"), nullable=True),
        sa.Column("request_id", sa.Text(collation="C"), nullable=True),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="pk_audit_events"),
    )
    secure_table("audit_events", by_tenant=True)
    op.create_index("ix_audit_events_order", "audit_events", ["tenant_id", "occurred_at", "id"], unique=False)
    op.create_table(
        "categories",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(collation="C"), nullable=False),
        sa.Column("description", sa.Text(collation="C"), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("updated_by", sa.Uuid(), nullable=True),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted_by", sa.Uuid(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="pk_categories"),
    )
    secure_table("categories", by_tenant=True)
    op.create_index(
        "ix_categories_order",
        "categories",
        ["tenant_id", "created_at", "id"],
        unique=False,
        postgresql_where=sa.text("NOT is_deleted"),
    )
    op.create_index(
        "uq_categories_name",
        "categories",
        ["tenant_id", sa.literal_column('lower(name COLLATE "default")')],
        unique=True,
        postgresql_where=sa.text("NOT is_deleted"),
    )
    op.create_table(
        "currencies",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("code", sa.Text(collation="C"), nullable=False),
        sa.Column("name", sa.Text(collation="C"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("updated_by", sa.Uuid(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_currencies"),
    )
    secure_table("currencies", by_tenant=False)
    op.create_index("ix_currencies_order", "currencies", ["created_at", "id"], unique=False)
    op.create_index("uq_currencies_code", "currencies", ["code"], unique=True)
    op.create_table(
        "products",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(collation="C"), nullable=False),
        sa.Column("sku", sa.Text(collation="C"), nullable=False),
        sa.Column("description", sa.Text(collation="C"), nullable=True),
        sa.Column("price", sa.Numeric(precision=12, scale=2), nullable=False),
        sa.Column("stock", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("status", sa.Text(collation="C"), server_default=sa.text("'draft'"), nullable=False),
        sa.Column("category_id", sa.Uuid(), nullable=True),
        sa.Column("released_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("updated_by", sa.Uuid(), nullable=True),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted_by", sa.Uuid(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "category_id"], ["categories.tenant_id", "categories.id"], name="fk_products_category_id"
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="pk_products"),
    )
    secure_table("products", by_tenant=True)
    op.create_index("ix_products_category_id", "products", ["tenant_id", "category_id"], unique=False)
    op.create_index(
        "ix_products_order",
        "products",
        ["tenant_id", "created_at", "id"],
        unique=False,
        postgresql_where=sa.text("NOT is_deleted"),
    )
    op.create_index(
        "uq_products_sku", "products", ["tenant_id", "sku"], unique=True, postgresql_where=sa.text("NOT is_deleted")
    )
    op.create_table(
        "reviews",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("product_id", sa.Uuid(), nullable=False),
        sa.Column("rating", sa.Integer(), nullable=False),
        sa.Column("author", sa.Text(collation="C"), nullable=False),
        sa.Column("text", sa.Text(collation="C"), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("updated_by", sa.Uuid(), nullable=True),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted_by", sa.Uuid(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "product_id"], ["products.tenant_id", "products.id"], name="fk_reviews_product_id"
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="pk_reviews"),
    )
    secure_table("reviews", by_tenant=True)
    op.create_index(
        "ix_reviews_order",
        "reviews",
        ["tenant_id", "created_at", "id"],
        unique=False,
        postgresql_where=sa.text("NOT is_deleted"),
    )
    op.create_index("ix_reviews_product_id", "reviews", ["tenant_id", "product_id"], unique=False)
