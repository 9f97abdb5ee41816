"""Locks after failed logins are counted, so that each in a row lasts longer than the one before."""

import sqlalchemy as sa
from alembic import op

revision = "0053"
down_revision = "0060"


def upgrade() -> None:
    op.add_column("login_attempts", sa.Column("locks", sa.Integer, nullable=False, server_default=sa.text("0")))
