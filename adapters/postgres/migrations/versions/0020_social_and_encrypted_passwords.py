"""Social identities, keys that passwords are encrypted to, ids that are used once, and imported hashes."""

import sqlalchemy as sa
from alembic import op

from adapters.postgres.migrations.operations import secure_table

revision = "0020"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("users", sa.Column("email_proved", sa.Boolean(), server_default=sa.text("false"), nullable=False))
    op.create_index(
        "ix_users_imported", "users", ["id"], unique=False, postgresql_where=sa.text("password_hash LIKE 'foreign:%'")
    )
    op.add_column(
        "signing_keys",
        sa.Column("purpose", sa.Text(collation="C"), server_default=sa.text("'EdDSA'"), nullable=False),
    )
    op.drop_index("uq_signing_keys_first", "signing_keys")
    op.create_index(
        "uq_signing_keys_first", "signing_keys", ["purpose"], unique=True, postgresql_where=sa.text("is_first")
    )
    op.create_table(
        "spent_ids",
        sa.Column("id", sa.Text(collation="C"), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_spent_ids"),
    )
    secure_table("spent_ids", by_tenant=False)
    op.create_index("ix_spent_ids_expires_at", "spent_ids", ["expires_at"], unique=False)
    op.create_table(
        "social_identities",
        sa.Column("provider", sa.Text(collation="C"), nullable=False),
        sa.Column("subject", sa.Text(collation="C"), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("linked_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_social_identities_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("provider", "subject", name="pk_social_identities"),
    )
    secure_table("social_identities", by_tenant=False)
    op.create_index("ix_social_identities_user_id", "social_identities", ["user_id"], unique=False)
