"""Digests of addresses of former members, which outlive the account."""

import sqlalchemy as sa
from alembic import op

from adapters.postgres.migrations.operations import secure_table

revision = "0073"
down_revision = "0072"


def upgrade() -> None:
    op.create_table(
        "former_addresses",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("marked_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_former_addresses_tenant_id"),
        sa.PrimaryKeyConstraint("tenant_id", "digest", name="pk_former_addresses"),
    )
    secure_table("former_addresses", by_tenant=True)
    op.create_index("ix_former_addresses_marked_at", "former_addresses", ["marked_at"], unique=False)
