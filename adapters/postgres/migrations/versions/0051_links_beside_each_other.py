"""Several links of one purpose live beside each other, and the time of each mail is known.

A process of the version before cannot issue links any more: its mails wait until one of this version takes them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0051"
down_revision = "0050"

LONG_ENOUGH_AGO = sa.text("now() - interval '5 minutes'")


# Networks kept the time of their first login; from now on it is that of the last one, and the last attempt is the best
# that is known of it: who logged in for months must not become a stranger.
KNOWN_SINCE_THE_LAST_ATTEMPT = "UPDATE login_attempts SET known_at = tried_at WHERE known_at < tried_at"


def upgrade() -> None:
    op.execute(KNOWN_SINCE_THE_LAST_ATTEMPT)
    op.add_column("one_time_tokens", sa.Column("issued_at", sa.DateTime(timezone=True), server_default=LONG_ENOUGH_AGO))
    op.alter_column("one_time_tokens", "issued_at", nullable=False, server_default=None)
    op.drop_constraint("pk_one_time_tokens", "one_time_tokens")
    op.create_primary_key("pk_one_time_tokens", "one_time_tokens", ["user_id", "purpose", "number"])
