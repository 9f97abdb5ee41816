"""The outbox, and the links that its mails carry."""

import sqlalchemy as sa
from alembic import op

from adapters.postgres.migrations.operations import secure_table

revision = "0010"
down_revision = "0020"


def upgrade() -> None:
    op.create_table(
        "outbox",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("kind", sa.Text(collation="C"), nullable=False),
        sa.Column("recipient", sa.Text(collation="C"), nullable=False),
        sa.Column("name", sa.Text(collation="C"), nullable=False),
        sa.Column("address", sa.Text(collation="C"), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("tries", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("given_up_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
    )
    secure_table("outbox", by_tenant=False)
    op.create_index(
        "ix_outbox_due", "outbox", ["due_at", "number"], unique=False, postgresql_where=sa.text("given_up_at IS NULL")
    )
    op.create_table(
        "one_time_tokens",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("purpose", sa.Text(collation="C"), nullable=False),
        sa.Column("email_key", sa.Text(collation="C"), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.Text(collation="C"), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_one_time_tokens_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "purpose", name="pk_one_time_tokens"),
    )
    secure_table("one_time_tokens", by_tenant=False)
    op.create_index("uq_one_time_tokens_hash", "one_time_tokens", ["hash"], unique=True)
