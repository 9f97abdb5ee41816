"""Positions of the entries in the queue.

PostgreSQL numbers an entry after its write has locked the row. So the entries of a row, and of writes that read each
other's results, ascend by number; and a statement that sees one of them sees those before it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from adapters.postgres.connection.connections import ServiceConnection

_OLDEST = "SELECT at FROM change_queue ORDER BY number LIMIT 1"
SEQUENCER_LOCK = "tenantry.sequencer"
# A separate statement, so that the snapshot of the next one is younger than the lock.
_LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))"
# An array, because IN reads the whole queue.
_SEQUENCE = """
WITH taken AS (
    DELETE FROM change_queue
    WHERE number = ANY (ARRAY(SELECT number FROM change_queue ORDER BY number LIMIT $1)) RETURNING *
), heads AS (
    INSERT INTO feed_heads AS h (tenant_id, position) SELECT tenant_id, count(*) FROM taken GROUP BY tenant_id
    ON CONFLICT (tenant_id) DO UPDATE SET position = h.position + excluded.position RETURNING h.tenant_id, h.position
), counted AS (
    SELECT *, row_number() OVER ordered AS place, count(*) OVER (PARTITION BY tenant_id) AS of_all
    FROM taken WINDOW ordered AS (PARTITION BY tenant_id ORDER BY number)
), placed AS (
    INSERT INTO changes (
        tenant_id, position, entity, row_id, version, action, at, by, subject, data, was, sequenced_at
    )
    SELECT c.tenant_id, h.position - c.of_all + c.place, c.entity, c.row_id, c.version, c.action, c.at, c.by, c.subject,
        c.data, c.was, now()
    FROM counted c JOIN heads h ON h.tenant_id IS NOT DISTINCT FROM c.tenant_id
)
SELECT tenant_id, count(*) FROM taken GROUP BY tenant_id"""


@dataclass(frozen=True, slots=True)
class PostgresChangeQueue:
    connection: ServiceConnection

    async def oldest(self) -> datetime | None:
        oldest: datetime | None = await self.connection.fetchval(_OLDEST)
        return oldest

    async def sequence(self, most: int) -> Mapping[UUID | None, int]:
        if not await self.connection.fetchval(_LOCK, SEQUENCER_LOCK):
            return {}
        return {row[0]: row[1] for row in await self.connection.fetch(_SEQUENCE, most)}
