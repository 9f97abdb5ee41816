"""VACUUM and ANALYZE where autovacuum is too late, as the tables' owner. No superuser is needed."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime

from adapters.postgres.connection.connecting import connected
from adapters.postgres.connection.connections import Connection
from adapters.postgres.operations.parts import forget, is_own, make_parts
from adapters.postgres.operations.reference_statistics import ANALYZE, make_statistics
from adapters.postgres.schema.parts import IN_PARTS
from adapters.postgres.schema.row_security import EVERY
from adapters.postgres.schema.schema import metadata_for
from adapters.postgres.schema.sql import on_table
from domain.entities.declaration import EntityModel, Registry
from domain.retention import DatedRecords

_CLEAR = "VACUUM (SKIP_LOCKED, ANALYZE) %(fullname)s"
_CLAIM = "SELECT pg_try_advisory_lock(hashtextextended('tenantry.upkeep', 0))"
# If two processes drop one partition, one fails. Use a separate lock, because VACUUM may hold the other one for long.
_CLAIM_RECORDS = "SELECT pg_try_advisory_lock(hashtextextended('tenantry.records', 0))"

# The thresholds are higher than those of autovacuum (50 rows and a tenth or a fifth of the table), so that autovacuum
# runs first. Without statistics, the planner assumes ten pages. Check each partition separately.
NEEDS = """
SELECT s.relname AS name, s.n_dead_tup > 1000 + 0.3 * greatest(c.reltuples, 0) AS has_dead_rows
FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class whole ON whole.oid = i.inhparent
WHERE coalesce(whole.relname, s.relname) = ANY ($1::text[])
AND pg_table_is_visible(c.oid) AND pg_has_role(c.relowner, 'USAGE')
AND (
    s.n_dead_tup > 1000 + 0.3 * greatest(c.reltuples, 0)
    OR s.n_mod_since_analyze > 500 + 0.2 * greatest(c.reltuples, 0)
    OR (s.n_mod_since_analyze > 0 AND s.last_analyze IS NULL AND s.last_autoanalyze IS NULL)
)
ORDER BY s.relname"""

PATIENCE = 3600.0
"""Seconds for one table; no user waits for it."""


@dataclass(frozen=True)
class PostgresUpkeep:
    """Upkeep on a separate connection, because the pool's role does not own any table."""

    url: str
    registry: Registry

    async def tend(self) -> Sequence[str]:
        tended: list[str] = []
        async with self._connection() as connection:
            if not await connection.fetchval(_CLAIM):
                return tended
            for parted in IN_PARTS.values():
                if await is_own(connection, parted):
                    await make_parts(connection, parted)
            for row in await connection.fetch(NEEDS, list(metadata_for(self.registry).tables)):
                await connection.execute(on_table(row["name"], _CLEAR if row["has_dead_rows"] else ANALYZE))
                tended.append(row["name"])
            tended += await make_statistics(connection, self.registry)
        return list(dict.fromkeys(tended))

    async def earlier(self, now: datetime) -> datetime:
        async with self._connection() as connection:
            earlier: datetime = await connection.fetchval("SELECT least($1, clock_timestamp())", now)
        return earlier

    async def analyze(self, model: EntityModel) -> None:
        async with self._connection() as connection:
            await connection.execute(on_table(model.table, ANALYZE))

    async def forget(self, what: DatedRecords, before: datetime, most: int) -> int | None:
        async with self._connection() as connection:
            if not await is_own(connection, IN_PARTS[what]):
                return None
            if not await connection.fetchval(_CLAIM_RECORDS):
                return 0
            return await forget(connection, IN_PARTS[what], before, most)

    def _connection(self) -> AbstractAsyncContextManager[Connection]:
        """Connect as the tables' owner; closing the connection releases the advisory lock."""
        return connected(self.url, command_timeout=PATIENCE, server_settings={"tenantry.scope": EVERY})
