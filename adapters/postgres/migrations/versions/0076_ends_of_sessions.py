"""When an administrator ended a member's sessions: earlier ones do not enter the tenant again."""

import sqlalchemy as sa
from alembic import op

revision = "0076"
down_revision = "0075"


def upgrade() -> None:
    op.add_column("memberships", sa.Column("sessions_ended_at", sa.TIMESTAMP(timezone=True), nullable=True))
