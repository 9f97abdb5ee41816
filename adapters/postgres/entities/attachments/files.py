"""Entries of the files of rows."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.attachments.consistency import MISCOUNTED, find_misheld
from adapters.postgres.statements.running import fetch
from domain.entities.attachments.files import StoredFile
from domain.entities.declaration import Registry
from domain.errors import BadRequest, ServiceUnavailable
from domain.scope import OneTenant, Scope

_ADD = """
INSERT INTO files (
    tenant_id, id, purpose, name, type, size, sha256, width, height, sizes, state, since, created_at, created_by
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"""
# Housekeeping may claim the file concurrently. A quota smaller than the first file inserts nothing.
_COMPLETE = """
WITH writing AS MATERIALIZED (
    SELECT id FROM files WHERE tenant_id = $1 AND id = $2 AND state = 'writing' FOR UPDATE
), counted AS (
    INSERT INTO file_usage AS u (tenant_id, bytes, files)
    SELECT $1, $4::bigint, 1 FROM writing WHERE $5::bigint IS NULL OR $4::bigint <= $5::bigint
    ON CONFLICT (tenant_id) DO UPDATE SET bytes = u.bytes + excluded.bytes, files = u.files + 1
    WHERE $5::bigint IS NULL OR u.bytes + excluded.bytes <= $5::bigint
    RETURNING true
), completed AS (
    UPDATE files SET state = 'temporary', since = $3
    WHERE tenant_id = $1 AND id IN (SELECT id FROM writing) AND EXISTS (SELECT FROM counted)
)
SELECT EXISTS (SELECT FROM counted) FROM writing"""
_TEMPORARY = "SELECT * FROM files WHERE tenant_id = $1 AND id = $2 AND created_by = $3 AND state = 'temporary'"
_HELD = """
SELECT * FROM files WHERE tenant_id = $1 AND id = $2 AND purpose = $3 AND row_id = $4 AND state = 'held'"""
_DISCARD = """
UPDATE files SET state = 'deleting', since = $4
WHERE tenant_id = $1 AND id = $2 AND created_by = $3 AND state = 'temporary' RETURNING *"""
_CLAIM = """
WITH unused AS (
    SELECT tenant_id, id FROM files
    WHERE (state IN ('writing', 'deleting', 'abandoned') AND since <= $2) OR (state = 'temporary' AND since <= $3)
    OR (state = 'released' AND since <= $4)
    ORDER BY since LIMIT $5 FOR UPDATE SKIP LOCKED
)
UPDATE files f SET since = $1,
    state = CASE WHEN f.state IN ('writing', 'abandoned') THEN 'abandoned' ELSE 'deleting' END
FROM unused WHERE f.tenant_id = unused.tenant_id AND f.id = unused.id
RETURNING f.*"""
_FORGET = """
WITH gone AS (
    DELETE FROM files WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) AND state IN ('writing', 'deleting', 'abandoned')
    RETURNING size, state
), counted AS (
    SELECT coalesce(sum(size), 0)::bigint AS bytes, count(*)::int AS files FROM gone WHERE state = 'deleting'
)
UPDATE file_usage u SET bytes = u.bytes - counted.bytes, files = u.files - counted.files FROM counted
WHERE u.tenant_id = $1"""

_PAGE = "SELECT * FROM files WHERE (tenant_id, id) > ($1, $2) ORDER BY tenant_id, id LIMIT $3"
_FIRST = UUID(int=0)
PATIENCE = 600.0
"""Seconds for a statement about all files."""
_USED = "SELECT bytes FROM file_usage WHERE tenant_id = $1"


@dataclass(frozen=True, slots=True)
class PostgresAttachedFiles:
    connection: ServiceConnection
    scope: Scope

    async def add(self, file: StoredFile) -> None:
        head = (self._tenant, file.id, file.purpose, file.name, file.type, file.size, file.sha256)
        rest = (file.width, file.height, list(file.sizes), file.state, file.since, file.created_at, file.created_by)
        await self.connection.execute(_ADD, *head, *rest)

    async def complete(self, file: StoredFile, at: datetime, quota: int | None) -> bool:
        values = self._tenant, file.id, at, file.size, quota
        is_counted: bool | None = await self.connection.fetchval(_COMPLETE, *values)
        if is_counted is None:
            raise ServiceUnavailable
        return is_counted

    async def temporary(self, file_id: UUID, by: UUID) -> StoredFile | None:
        return _file(await self.connection.fetchrow(_TEMPORARY, self._tenant, file_id, by))

    async def held(self, purpose: str, row_id: UUID, file_id: UUID) -> StoredFile | None:
        return _file(await self.connection.fetchrow(_HELD, self._tenant, file_id, purpose, row_id))

    async def discard(self, file_id: UUID, by: UUID, at: datetime) -> StoredFile | None:
        return _file(await self.connection.fetchrow(_DISCARD, self._tenant, file_id, by, at))

    async def forget(self, file_id: UUID) -> None:
        await self.connection.execute(_FORGET, self._tenant, [file_id])

    async def used(self) -> int:
        return await self.connection.fetchval(_USED, self._tenant) or 0

    @property
    def _tenant(self) -> UUID:
        if not isinstance(self.scope, OneTenant):
            raise BadRequest("Files are written in one tenant at a time.")
        return self.scope.id


@dataclass(frozen=True, slots=True)
class PostgresUnusedFiles:
    connection: ServiceConnection
    registry: Registry

    async def claim(
        self, now: datetime, written: datetime, attached: datetime, released: datetime, most: int
    ) -> Sequence[StoredFile]:
        rows = await self.connection.fetch(_CLAIM, now, written, attached, released, most)
        return [file for row in rows if (file := _file(row)) is not None]

    async def page(self, after: tuple[UUID, UUID] | None, most: int) -> Sequence[StoredFile]:
        rows = await self.connection.fetch(_PAGE, *(after or (_FIRST, _FIRST)), most)
        return [file for row in rows if (file := _file(row)) is not None]

    async def forget(self, files: Sequence[StoredFile]) -> None:
        by_tenant: dict[UUID, list[UUID]] = defaultdict(list)
        for file in files:
            by_tenant[file.tenant_id].append(file.id)
        for tenant, ids in sorted(by_tenant.items()):
            await self.connection.execute(_FORGET, tenant, ids)

    async def misheld(self, most: int) -> Sequence[StoredFile]:
        found: dict[UUID, StoredFile] = {}
        for model in self.registry:
            for field in model.attachments:
                statement = find_misheld(self.registry, model, field.name)
                rows = await fetch(self.connection, statement, {"most": most - len(found)}, PATIENCE)
                found |= {file.id: file for row in rows if (file := _file(row)) is not None}
        return list(found.values())

    async def miscounted(self, most: int) -> Sequence[UUID]:
        return [row["tenant_id"] for row in await self.connection.fetch(MISCOUNTED, most, timeout=PATIENCE)]


def _file(row: Any) -> StoredFile | None:
    return None if row is None else msgspec.convert(dict(row), StoredFile)
