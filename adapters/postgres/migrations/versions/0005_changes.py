"""The log of changes: the queue of entries, positions, and the epoch of the service."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from adapters.postgres.migrations.operations import make_first_parts, secure_table

revision = "0005"
down_revision = "0004"

TEXT = sa.Text(collation="C")
UUID = sa.Uuid()
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "change_queue",
        sa.Column("number", sa.BigInteger(), sa.Identity(always=True, cache=1), nullable=False),
        *_entry(),
        sa.PrimaryKeyConstraint("number", name="pk_change_queue"),
    )
    # The sequencer deletes each row soon after its insert.
    op.execute("ALTER TABLE change_queue SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000)")
    secure_table("change_queue", by_tenant=True)
    op.create_table("feed_heads", sa.Column("tenant_id", UUID), sa.Column("position", sa.BigInteger(), nullable=False))
    secure_table("feed_heads", by_tenant=True)
    op.create_index(
        "uq_feed_heads_tenant_id", "feed_heads", ["tenant_id"], unique=True, postgresql_nulls_not_distinct=True
    )
    op.create_table(
        "changes",
        *_entry(),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("sequenced_at", TIME, nullable=False),
        postgresql_partition_by="RANGE (sequenced_at)",
    )
    secure_table("changes", by_tenant=True)
    op.create_index("ix_changes_position", "changes", ["tenant_id", "position"])
    op.create_index("ix_changes_row", "changes", ["tenant_id", "entity", "row_id", "version"])
    op.create_index("ix_changes_sequenced_at", "changes", ["sequenced_at"], postgresql_using="brin")
    make_first_parts("changes")
    op.create_table(
        "service_epoch",
        sa.Column("epoch", UUID, nullable=False),
        sa.PrimaryKeyConstraint("epoch", name="pk_service_epoch"),
    )
    secure_table("service_epoch", by_tenant=False)
    op.execute("INSERT INTO service_epoch VALUES (gen_random_uuid())")
    op.execute("ANALYZE service_epoch")


def _entry() -> list[sa.Column[object]]:
    return [
        sa.Column("tenant_id", UUID),
        sa.Column("entity", TEXT, nullable=False),
        sa.Column("row_id", UUID, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("action", TEXT, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("by", UUID),
        sa.Column("subject", UUID),
        sa.Column("data", postgresql.JSON()),
        sa.Column("was", postgresql.JSON()),
    ]


def downgrade() -> None:
    op.execute("DROP TABLE change_queue, feed_heads, changes, service_epoch")
