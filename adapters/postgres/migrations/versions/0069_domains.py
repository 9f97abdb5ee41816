"""Domains of tenants, requests to join, and who was a member once."""

import sqlalchemy as sa
from alembic import op

from adapters.postgres.migrations.operations import secure_table

revision = "0069"
down_revision = "0070"


def upgrade() -> None:
    _add_domains()
    _add_requests()
    op.create_table(
        "former_members",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_former_members_tenant_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_former_members_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", name="pk_former_members"),
    )
    secure_table("former_members", by_tenant=True)
    op.create_index("ix_former_members_user_id", "former_members", ["user_id"], unique=False)


def _add_domains() -> None:
    op.create_table(
        "tenant_domains",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("domain", sa.Text(collation="C"), nullable=False),
        sa.Column("mode", sa.Text(collation="C"), nullable=False),
        sa.Column("role_ids", sa.ARRAY(sa.Uuid()), nullable=False),
        sa.Column("proof", sa.Text(collation="C"), nullable=False),
        sa.Column("state", sa.Text(collation="C"), nullable=False),
        sa.Column("set_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("checked_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_tenant_domains_tenant_id"),
        sa.PrimaryKeyConstraint("tenant_id", "domain", name="pk_tenant_domains"),
    )
    secure_table("tenant_domains", by_tenant=True)
    op.create_index(
        "uq_tenant_domains_verified",
        "tenant_domains",
        ["domain"],
        unique=True,
        postgresql_where=sa.text("state = 'verified'"),
    )
    op.create_index(
        "ix_tenant_domains_checked_at",
        "tenant_domains",
        ["checked_at"],
        unique=False,
        postgresql_where=sa.text("state = 'verified'"),
    )


def _add_requests() -> None:
    op.create_table(
        "join_requests",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("domain", sa.Text(collation="C"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", sa.Text(collation="C"), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_by", sa.Uuid(), nullable=True),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_join_requests_tenant_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_join_requests_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", name="pk_join_requests"),
    )
    secure_table("join_requests", by_tenant=True)
    op.create_index("ix_join_requests_user_id", "join_requests", ["user_id"], unique=False)
    op.create_index(
        "ix_join_requests_pending",
        "join_requests",
        ["tenant_id", "created_at"],
        unique=False,
        postgresql_where=sa.text("status = 'pending'"),
    )
    op.create_index(
        "ix_join_requests_end", "join_requests", [sa.literal_column("coalesce(ended_at, created_at)")], unique=False
    )
