"""Which raised counts the shared copy may not know yet."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("revocation_counts", sa.Column("raised_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index(
        "ix_revocation_counts_raised_at",
        "revocation_counts",
        ["raised_at"],
        unique=False,
        postgresql_where=sa.text("raised_at IS NOT NULL"),
    )
