"""Invitations into tenants."""

import sqlalchemy as sa
from alembic import op

from adapters.postgres.migrations.operations import secure_table

revision = "0064"
down_revision = "0053"


def upgrade() -> None:
    op.create_table(
        "invitations",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("email", sa.Text(collation="C"), nullable=False),
        sa.Column("email_key", sa.Text(collation="C"), nullable=False),
        sa.Column("role_ids", sa.ARRAY(sa.Uuid()), nullable=False),
        sa.Column("invited_by", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("hash", sa.Text(collation="C"), nullable=False),
        sa.Column("status", sa.Text(collation="C"), server_default=sa.text("'pending'"), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("accepted_by", sa.Uuid(), nullable=True),
        sa.Column("mailed_at", sa.ARRAY(sa.DateTime(timezone=True)), server_default=sa.text("'{}'"), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_invitations_tenant_id"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="pk_invitations"),
    )
    secure_table("invitations", by_tenant=True)
    op.create_index("uq_invitations_hash", "invitations", ["hash"], unique=True)
    op.create_index(
        "uq_invitations_pending",
        "invitations",
        ["tenant_id", "email_key"],
        unique=True,
        postgresql_where=sa.text("status = 'pending'"),
    )
    op.create_index("ix_invitations_email_key", "invitations", ["email_key"], unique=False)
    op.create_index("ix_invitations_created_at", "invitations", ["tenant_id", "created_at"], unique=False)
    op.create_index(
        "ix_invitations_end", "invitations", [sa.literal_column("coalesce(ended_at, expires_at)")], unique=False
    )
