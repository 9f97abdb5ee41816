"""Owners of tenants, and what a mail is about."""

import sqlalchemy as sa
from alembic import op

revision = "0065"
down_revision = "0064"


def upgrade() -> None:
    op.add_column("memberships", sa.Column("is_owner", sa.Boolean(), server_default=sa.text("false"), nullable=False))
    op.create_index(
        "ix_memberships_owners", "memberships", ["tenant_id"], unique=False, postgresql_where=sa.text("is_owner")
    )
    op.add_column("outbox", sa.Column("about", sa.Text(collation="C"), server_default=sa.text("''"), nullable=False))
