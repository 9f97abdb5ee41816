"""Addresses that people want for their accounts, until they have proved them."""

import sqlalchemy as sa
from alembic import op

from adapters.postgres.migrations.operations import secure_table

revision = "0068"
down_revision = "0066"


def upgrade() -> None:
    op.create_table(
        "email_changes",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("email", sa.Text(collation="C"), nullable=False),
        sa.Column("email_key", sa.Text(collation="C"), nullable=False),
        sa.Column("hash", sa.Text(collation="C"), nullable=False),
        sa.Column("requested_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("mailed_at", sa.ARRAY(sa.DateTime(timezone=True)), server_default=sa.text("'{}'"), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_email_changes_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", name="pk_email_changes"),
    )
    secure_table("email_changes", by_tenant=False)
    op.create_index("uq_email_changes_hash", "email_changes", ["hash"], unique=True)
    op.create_index("ix_email_changes_expires_at", "email_changes", ["expires_at"], unique=False)
