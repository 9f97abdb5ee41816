"""Webhooks and their deliveries."""

import sqlalchemy as sa
from alembic import op

from adapters.postgres.migrations.operations import secure_table

revision = "0007"
down_revision = "0006"

TEXT = sa.Text(collation="C")
UUID = sa.Uuid()
TIME = sa.DateTime(timezone=True)
WAITING = sa.text("state = 'waiting'")


def upgrade() -> None:
    op.create_table(
        "webhooks",
        sa.Column("tenant_id", UUID, nullable=False),
        sa.Column("id", UUID, nullable=False),
        sa.Column("service_account_id", UUID, nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("host", TEXT, nullable=False),
        sa.Column("description", TEXT, nullable=False),
        sa.Column("events", sa.ARRAY(TEXT), nullable=False),
        sa.Column("content", TEXT, nullable=False),
        sa.Column("signature", TEXT, nullable=False),
        sa.Column("order_by", TEXT, nullable=False),
        sa.Column("is_active", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("sealed", TEXT, nullable=False),
        sa.Column("sealed_before", TEXT),
        sa.Column("before_until", TIME),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("shared_position", sa.BigInteger(), nullable=False),
        sa.Column("replay_position", sa.BigInteger()),
        sa.Column("replay_until", sa.BigInteger()),
        sa.Column("replay_shared_position", sa.BigInteger()),
        sa.Column("replay_shared_until", sa.BigInteger()),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("created_by", UUID),
        sa.Column("disabled_at", TIME),
        sa.Column("failing_since", TIME),
        sa.Column("last_success_at", TIME),
        sa.Column("last_status", sa.Integer()),
        sa.ForeignKeyConstraint(
            ["tenant_id", "service_account_id"],
            ["service_accounts.tenant_id", "service_accounts.id"],
            name="fk_webhooks_tenant_id_service_account_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="pk_webhooks"),
    )
    secure_table("webhooks", by_tenant=True)
    op.create_index("ix_webhooks_service_account_id", "webhooks", ["tenant_id", "service_account_id"])
    op.create_table(
        "webhook_deliveries",
        sa.Column("tenant_id", UUID, nullable=False),
        sa.Column("webhook_id", UUID, nullable=False),
        sa.Column("is_shared", sa.Boolean(), nullable=False),
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("id", UUID, nullable=False),
        sa.Column("entity", TEXT, nullable=False),
        sa.Column("row_id", UUID, nullable=False),
        sa.Column("event", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("due_at", TIME, nullable=False),
        sa.Column("leased_until", TIME),
        sa.Column("last_status", sa.Integer()),
        sa.Column("last_error", TEXT),
        sa.Column("duration_ms", sa.Integer()),
        sa.ForeignKeyConstraint(
            ["tenant_id", "webhook_id"],
            ["webhooks.tenant_id", "webhooks.id"],
            name="fk_webhook_deliveries_tenant_id_webhook_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "webhook_id", "is_shared", "position", name="pk_webhook_deliveries"),
    )
    secure_table("webhook_deliveries", by_tenant=True)
    _index("uq_webhook_deliveries_id", "tenant_id", "webhook_id", "id", unique=True)
    _index("ix_webhook_deliveries_created_at", "created_at")
    _index("ix_webhook_deliveries_due_at", "due_at", postgresql_where=WAITING)
    _index("ix_webhook_deliveries_waiting", "tenant_id", "webhook_id", "due_at", postgresql_where=WAITING)
    given_up = sa.text("state = 'given-up'")
    _index("ix_webhook_deliveries_given_up", "tenant_id", "webhook_id", postgresql_where=given_up)
    row = ("tenant_id", "webhook_id", "entity", "row_id", "position")
    _index("ix_webhook_deliveries_row", *row, postgresql_where=WAITING)
    leased = sa.text("leased_until IS NOT NULL")
    _index("ix_webhook_deliveries_leased", "tenant_id", "webhook_id", postgresql_where=leased)


def _index(name: str, *columns: str, **options: object) -> None:
    op.create_index(name, "webhook_deliveries", list(columns), **options)  # type: ignore[arg-type]  # keyword arguments


def downgrade() -> None:
    op.drop_table("webhook_deliveries")
    op.drop_table("webhooks")
