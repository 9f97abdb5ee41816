"""The audit trail in parts by month, beside reads and writes: an old part is dropped, and no row of it deleted."""

from adapters.postgres.migrations.online.parts import put_into_parts_online
from adapters.postgres.schema.parts import IN_PARTS
from domain.retention import DatedRecords

revision = "0071"
down_revision = "0069"
online = True


def upgrade() -> None:
    put_into_parts_online(
        IN_PARTS[DatedRecords.EVENTS],
        aside=(
            "ALTER TABLE audit_events_old RENAME CONSTRAINT pk_audit_events TO pk_audit_events_old",
            "ALTER INDEX ix_audit_events_order RENAME TO ix_audit_events_old_order",
        ),
        made=(
            "ALTER TABLE audit_events ADD CONSTRAINT pk_audit_events PRIMARY KEY (tenant_id, id)",
            "CREATE INDEX ix_audit_events_order ON audit_events (tenant_id, occurred_at, id)",
        ),
    )
