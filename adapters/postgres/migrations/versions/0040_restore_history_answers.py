"""What a deletion took along, histories of rows, and the answers kept for requests that come twice."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from adapters.postgres.migrations.operations import secure_table

revision = "0040"
down_revision = "0030"


def upgrade() -> None:
    for table in ("applications", "categories", "products", "reviews"):
        op.add_column(table, sa.Column("deleted_with", sa.Uuid(), nullable=True))
        rows = sa.table(table, sa.column("id"), sa.column("is_deleted"), sa.column("deleted_with"))
        op.execute(sa.update(rows).where(rows.c.is_deleted).values(deleted_with=rows.c.id))
    op.create_table(
        "row_history",
        sa.Column("tenant_id", sa.Uuid(), nullable=True),
        sa.Column("entity", sa.Text(collation="C"), nullable=False),
        sa.Column("row_id", sa.Uuid(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("action", sa.Text(collation="C"), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("by", sa.Uuid(), nullable=True),
        sa.Column("changes", postgresql.JSON(), nullable=False),
    )
    secure_table("row_history", by_tenant=True)
    op.create_index(
        "uq_row_history_version",
        "row_history",
        ["tenant_id", "entity", "row_id", "version"],
        unique=True,
        postgresql_nulls_not_distinct=True,
    )
    op.create_table(
        "kept_answers",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(collation="C"), nullable=False),
        sa.Column("fingerprint", sa.Text(collation="C"), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "key", name="pk_kept_answers"),
    )
    secure_table("kept_answers", by_tenant=True)
    op.create_index("ix_kept_answers_at", "kept_answers", ["tenant_id", "at"], unique=False)
