"""Why mails were given up, and when somebody had one tried again."""

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"


def upgrade() -> None:
    op.add_column("outbox", sa.Column("why", sa.Text(collation="C"), server_default=sa.text("''"), nullable=False))
    op.add_column("outbox", sa.Column("tried_again_at", sa.DateTime(timezone=True), nullable=True))
