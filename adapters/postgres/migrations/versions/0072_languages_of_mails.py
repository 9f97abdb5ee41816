"""The language of the browser that a mail was asked for with."""

import sqlalchemy as sa
from alembic import op

revision = "0072"
down_revision = "0071"


def upgrade() -> None:
    op.add_column("outbox", sa.Column("language", sa.Text(collation="C"), server_default=sa.text("''"), nullable=False))
