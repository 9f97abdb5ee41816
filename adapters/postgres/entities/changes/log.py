"""Reads of the log of changes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.changes.own_statements import find_own, find_own_through, find_shared
from adapters.postgres.statements.compiled import CompiledStatement
from adapters.postgres.statements.owning import user_of
from adapters.postgres.statements.running import fetch
from application.ports.entities.changes import Heads, LogEntry, Read, Stream
from domain.entities.declaration import EntityModel, Registry
from domain.entities.markers import Through
from domain.entities.owning import limits_in
from domain.errors import CursorExpired
from domain.scope import OneTenant, Scope

_HEADS = """
SELECT coalesce((SELECT position FROM feed_heads WHERE tenant_id = $1), 0),
    coalesce((SELECT position FROM feed_heads WHERE tenant_id IS NULL), 0), (SELECT epoch FROM service_epoch)"""
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
    registry: Registry
    scope: Scope

    async def heads(self) -> Heads:
        row = await self.connection.fetchrow(_HEADS, self._tenant)
        assert row is not None
        return Heads(*row)

    async def after(self, stream: Stream, position: int, until: int, most: int, entities: Collection[str]) -> Read:
        if until <= position:
            return Read([], position)
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

    async def own_through(self, model: EntityModel, rule: Through, keys: Collection[UUID]) -> Collection[UUID]:
        return await self._among(find_own_through(self.registry, model, rule), keys)

    async def shared_among(self, model: EntityModel, ids: Collection[UUID]) -> Collection[UUID]:
        return await self._among(find_shared(model), ids)

    async def own_among(self, model: EntityModel, ids: Collection[UUID]) -> Collection[UUID]:
        return await self._among(find_own(self.registry, model, limits_in(self.scope)), ids)

    async def _among(self, statement: CompiledStatement, ids: Collection[UUID]) -> Collection[UUID]:
        if not ids:
            return ()
        values = {"tenant": self._tenant, "ids": list(ids), **user_of(self.scope)}
        return {row[0] for row in await fetch(self.connection, statement, values)}

    @property
    def _tenant(self) -> UUID:
        assert isinstance(self.scope, OneTenant)
        return self.scope.id
