"""Histories in parts by month, beside reads and writes: an old part is dropped, and no line of it deleted.

A unique index of a table in parts contains their key, which is the time: the index by row is one that is not unique.
"""

from adapters.postgres.migrations.online.operations import create_index_online
from adapters.postgres.migrations.online.parts import is_in_parts, put_into_parts_online
from adapters.postgres.schema.parts import IN_PARTS
from domain.retention import DatedRecords

revision = "0074"
down_revision = "0073"
online = True


def upgrade() -> None:
    if not is_in_parts("row_history"):
        create_index_online("ix_row_history_row", "row_history", ["tenant_id", "entity", "row_id", "version"])
        create_index_online("ix_row_history_at", "row_history", ["at"], postgresql_using="brin")
    put_into_parts_online(
        IN_PARTS[DatedRecords.HISTORIES],
        aside=(
            "DROP INDEX uq_row_history_version",
            "ALTER INDEX ix_row_history_row RENAME TO ix_row_history_old_row",
            "ALTER INDEX ix_row_history_at RENAME TO ix_row_history_old_at",
        ),
        made=(
            "CREATE INDEX ix_row_history_row ON row_history (tenant_id, entity, row_id, version)",
            "CREATE INDEX ix_row_history_at ON row_history USING brin (at)",
        ),
    )
