"""Files of rows, the bytes that they use, and photos of the example catalogue."""

import sqlalchemy as sa
from alembic import op

from adapters.postgres.migrations.operations import secure_table

revision = "0006"
down_revision = "0005"

TEXT = sa.Text(collation="C")
UUID = sa.Uuid()
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "files",
        sa.Column("tenant_id", UUID, nullable=False),
        sa.Column("id", UUID, nullable=False),
        sa.Column("purpose", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("type", TEXT, nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", TEXT, nullable=False),
        sa.Column("width", sa.Integer()),
        sa.Column("height", sa.Integer()),
        sa.Column("sizes", sa.ARRAY(TEXT), nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("since", MOMENT, nullable=False),
        sa.Column("entity", TEXT),
        sa.Column("row_id", UUID),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("created_by", UUID),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="pk_files"),
    )
    secure_table("files", by_tenant=True)
    op.create_index("ix_files_since", "files", ["since"], postgresql_where=sa.text("state <> 'held'"))
    op.create_index("ix_files_row", "files", ["tenant_id", "entity", "row_id"])
    op.create_table(
        "file_usage",
        sa.Column("tenant_id", UUID, nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("files", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", name="pk_file_usage"),
    )
    secure_table("file_usage", by_tenant=True)
    op.add_column("products", sa.Column("photo_id", UUID))
    keys = ["tenant_id", "photo_id"], ["tenant_id", "id"]
    op.create_foreign_key("fk_products_photo_id", "products", "files", *keys)
    held = sa.text("photo_id IS NOT NULL")
    op.create_index("ix_products_photo_id", "products", ["tenant_id", "photo_id"], postgresql_where=held)


def downgrade() -> None:
    op.drop_column("products", "photo_id")
    op.drop_table("file_usage")
    op.drop_table("files")
