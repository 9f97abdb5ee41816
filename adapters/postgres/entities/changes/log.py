"""Reads of the log of changes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from adapters.postgres.connection.connections import ServiceConnection
from application.ports.entities.changes import Heads, LogEntry, Read, Stream
from domain.errors import CursorExpired
from domain.scope import OneTenant, Scope

_EPOCH = "SELECT epoch FROM service_epoch"
_HEADS = """
SELECT coalesce((SELECT position FROM feed_heads WHERE tenant_id = $1), 0),
    coalesce((SELECT position FROM feed_heads WHERE tenant_id IS NULL), 0)"""
_ENTRIES: Mapping[Stream, str] = {
    "own": """
SELECT position, entity, row_id, version, action, at, by, subject, data, was FROM changes
WHERE tenant_id = $1 AND position > $2 AND position <= $3 AND entity = ANY ($4) ORDER BY position LIMIT $5""",
    "shared": """
SELECT position, entity, row_id, version, action, at, by, subject, data, was FROM changes
WHERE $1::uuid IS NOT NULL AND tenant_id IS NULL AND position > $2 AND position <= $3 AND entity = ANY ($4)
ORDER BY position LIMIT $5""",
}
_COUNT: Mapping[Stream, str] = {
    "own": "SELECT count(*) FROM changes WHERE tenant_id = $1 AND position > $2 AND position <= $3",
    "shared": """
SELECT count(*) FROM changes
WHERE $1::uuid IS NOT NULL AND tenant_id IS NULL AND position > $2 AND position <= $3""",
}


@dataclass(frozen=True, slots=True)
class PostgresChanges:
    connection: ServiceConnection
    scope: Scope

    async def epoch(self) -> UUID:
        epoch: UUID = await self.connection.fetchval(_EPOCH)
        return epoch

    async def heads(self) -> Heads:
        row = await self.connection.fetchrow(_HEADS, self._tenant)
        assert row is not None
        return Heads(*row)

    async def after(self, stream: Stream, position: int, until: int, most: int, entities: Collection[str]) -> Read:
        values = (self._tenant, position, until)
        rows = await self.connection.fetch(_ENTRIES[stream], *values, list(entities), most)
        entries = [
            LogEntry(
                position=row[0],
                entity=row[1],
                row_id=row[2],
                version=row[3],
                action=row[4],
                at=row[5],
                by=row[6],
                subject=row[7],
                data=row[8],
                was=row[9],
            )
            for row in rows
        ]
        reached = entries[-1].position if len(entries) == most else until
        # Retention drops whole partitions, so a gap proves that entries are gone.
        if len(entries) < reached - position:
            count: int = await self.connection.fetchval(_COUNT[stream], self._tenant, position, reached)
            if count < reached - position:
                raise CursorExpired
        return Read(entries, reached)

    @property
    def _tenant(self) -> UUID:
        assert isinstance(self.scope, OneTenant)
        return self.scope.id
