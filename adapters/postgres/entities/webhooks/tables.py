"""Tables of webhooks and their deliveries."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKeyConstraint, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from adapters.postgres.schema.declarative import BigInt, BigIntKey, DefaultTrue, IdentityBase, RowId, tables_of


class WebhookRow(IdentityBase):
    __tablename__ = "webhooks"

    tenant_id: Mapped[RowId]
    id: Mapped[RowId]
    service_account_id: Mapped[UUID]
    url: Mapped[str]
    host: Mapped[str]
    description: Mapped[str]
    events: Mapped[list[str]]
    content: Mapped[str]
    signature: Mapped[str]
    order_by: Mapped[str]
    is_active: Mapped[DefaultTrue]
    sealed: Mapped[str]
    sealed_before: Mapped[str | None]
    before_until: Mapped[datetime | None]
    position: Mapped[BigInt]
    shared_position: Mapped[BigInt]
    replay_position: Mapped[BigInt | None]
    replay_until: Mapped[BigInt | None]
    replay_shared_position: Mapped[BigInt | None]
    replay_shared_until: Mapped[BigInt | None]
    created_at: Mapped[datetime]
    # No foreign key: the row outlives its creator.
    created_by: Mapped[UUID | None]
    disabled_at: Mapped[datetime | None]
    failing_since: Mapped[datetime | None]
    last_success_at: Mapped[datetime | None]
    last_status: Mapped[int | None]

    __table_args__ = (
        ForeignKeyConstraint(
            ["tenant_id", "service_account_id"],
            ["service_accounts.tenant_id", "service_accounts.id"],
            ondelete="CASCADE",
        ),
        Index("ix_webhooks_service_account_id", "tenant_id", "service_account_id"),
    )


class DeliveryRow(IdentityBase):
    """An event for a webhook. The row stores no byte of a response's body."""

    __tablename__ = "webhook_deliveries"

    tenant_id: Mapped[RowId]
    webhook_id: Mapped[RowId]
    is_shared: Mapped[bool] = mapped_column(primary_key=True)
    position: Mapped[BigIntKey]
    id: Mapped[UUID]
    entity: Mapped[str]
    row_id: Mapped[UUID]
    event: Mapped[str]
    created_at: Mapped[datetime]
    state: Mapped[str]
    tries: Mapped[int]
    due_at: Mapped[datetime]
    leased_until: Mapped[datetime | None]
    last_status: Mapped[int | None]
    last_error: Mapped[str | None]
    duration_ms: Mapped[int | None]

    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "webhook_id"], ["webhooks.tenant_id", "webhooks.id"], ondelete="CASCADE"),
        Index("uq_webhook_deliveries_id", "tenant_id", "webhook_id", "id", unique=True),
        Index("ix_webhook_deliveries_created_at", "created_at"),
        Index("ix_webhook_deliveries_due_at", "due_at", postgresql_where=text("state = 'waiting'")),
        Index(
            "ix_webhook_deliveries_waiting",
            "tenant_id",
            "webhook_id",
            "due_at",
            postgresql_where=text("state = 'waiting'"),
        ),
        # Metrics count these at each scrape.
        Index(
            "ix_webhook_deliveries_given_up",
            "tenant_id",
            "webhook_id",
            postgresql_where=text("state = 'given-up'"),
        ),
        Index(
            "ix_webhook_deliveries_row",
            "tenant_id",
            "webhook_id",
            "entity",
            "row_id",
            "position",
            postgresql_where=text("state = 'waiting'"),
        ),
        Index(
            "ix_webhook_deliveries_leased",
            "tenant_id",
            "webhook_id",
            postgresql_where=text("leased_until IS NOT NULL"),
        ),
    )


TABLES = tables_of(WebhookRow, DeliveryRow)
