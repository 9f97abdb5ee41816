"""Shares of rows with single members."""

import sqlalchemy as sa
from alembic import op

from adapters.postgres.migrations.operations import secure_table

revision = "0004"
down_revision = "0003"

TEXT = sa.Text(collation="C")
UUID = sa.Uuid()


def upgrade() -> None:
    op.create_table(
        "row_shares",
        sa.Column("tenant_id", UUID, nullable=False),
        sa.Column("user_id", UUID, nullable=False),
        sa.Column("entity", TEXT, nullable=False),
        sa.Column("row_id", UUID, nullable=False),
        sa.Column("level", TEXT, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", UUID),
        sa.ForeignKeyConstraint(
            ["tenant_id", "user_id"],
            ["memberships.tenant_id", "memberships.user_id"],
            name="fk_row_shares_tenant_id_user_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "entity", "row_id", name="pk_row_shares"),
    )
    secure_table("row_shares", by_tenant=True)
    op.create_index("ix_row_shares_row", "row_shares", ["tenant_id", "entity", "row_id"])


def downgrade() -> None:
    op.drop_table("row_shares")
