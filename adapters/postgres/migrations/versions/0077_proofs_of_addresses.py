"""When an account's present address was proved: passkeys from before it may be somebody else's."""

import sqlalchemy as sa
from alembic import op

revision = "0077"
down_revision = "0076"


def upgrade() -> None:
    op.add_column("users", sa.Column("email_proved_at", sa.TIMESTAMP(timezone=True), nullable=True))
