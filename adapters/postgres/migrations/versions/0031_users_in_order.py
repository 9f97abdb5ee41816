"""Orders of the list of users in which many share a value: never logged in, active or not."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0040"


def upgrade() -> None:
    op.create_index("ix_users_last_login_at_down", "users", [sa.literal_column("last_login_at DESC"), "id"])
    op.create_index("ix_users_updated_at", "users", ["updated_at", "id"])
    op.create_index("ix_users_is_active", "users", ["is_active", "id"])
    op.create_index("ix_users_is_active_down", "users", [sa.literal_column("is_active DESC"), "id"])
