"""Second factors, recovery codes, and the names that passkeys keep of their users."""

import sqlalchemy as sa
from alembic import op

from adapters.postgres.migrations.operations import secure_table

revision = "0061"
down_revision = "0062"


def upgrade() -> None:
    op.add_column("users", sa.Column("webauthn_handle", sa.LargeBinary(), nullable=True))
    op.create_table(
        "factors",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(collation="C"), nullable=False),
        sa.Column("name", sa.Text(collation="C"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sealed", sa.Text(collation="C"), nullable=True),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("credential_id", sa.LargeBinary(), nullable=True),
        sa.Column("public_key", sa.LargeBinary(), nullable=True),
        sa.Column("counter", sa.BigInteger(), nullable=True),
        sa.Column("transports", sa.ARRAY(sa.Text(collation="C")), nullable=True),
        sa.Column("aaguid", sa.Uuid(), nullable=True),
        sa.Column("backup_eligible", sa.Boolean(), nullable=True),
        sa.Column("backed_up", sa.Boolean(), nullable=True),
        sa.Column("uv_initialized", sa.Boolean(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_factors_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_factors"),
    )
    secure_table("factors", by_tenant=False)
    op.create_index("ix_factors_user_id", "factors", ["user_id"], unique=False)
    op.create_index("uq_factors_credential_id", "factors", ["credential_id"], unique=True)
    op.create_table(
        "recovery_codes",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_recovery_codes_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "hash", name="pk_recovery_codes"),
    )
    secure_table("recovery_codes", by_tenant=False)
