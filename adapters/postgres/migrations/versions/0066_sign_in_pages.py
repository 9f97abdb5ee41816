"""Addresses that applications are handed a login at, and whether a session is its user's first."""

import sqlalchemy as sa
from alembic import op

revision = "0066"
down_revision = "0061"


def upgrade() -> None:
    op.add_column("applications", sa.Column("redirect_urls", sa.ARRAY(sa.Text(collation="C")), nullable=True))
    op.add_column(
        "sessions", sa.Column("is_first_login", sa.Boolean(), server_default=sa.text("false"), nullable=False)
    )
