"""How and when the person behind a session proved who they are.

Sessions of before have neither: they live on, and are asked for a proof where a recent one is needed.
"""

import sqlalchemy as sa
from alembic import op

revision = "0060"
down_revision = "0052"


def upgrade() -> None:
    op.add_column(
        "sessions",
        sa.Column("methods", sa.ARRAY(sa.Text(collation="C")), server_default=sa.text("'{}'"), nullable=False),
    )
    op.add_column("sessions", sa.Column("authenticated_at", sa.DateTime(timezone=True), nullable=True))
