"""Shares of rows. A share ends with its membership, by a foreign key, or with its row."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from adapters.postgres.connection.connections import ServiceConnection
from application.ports.entities.records import Act
from application.ports.entities.shares import Share
from domain.entities.declaration import EntityModel
from domain.entities.owning import ShareLevel
from domain.errors import BadRequest
from domain.scope import OneTenant, Scope

_LIST = """
SELECT s.user_id, u.full_name, s.level, s.created_at, s.created_by FROM row_shares s JOIN users u ON u.id = s.user_id
WHERE s.tenant_id = $1 AND s.entity = $2 AND s.row_id = $3 ORDER BY s.created_at, s.user_id"""

# Lock the membership, so that it does not end before the share is stored.
_PUT = """
WITH member AS (
    SELECT m.tenant_id, m.user_id, u.full_name FROM memberships m JOIN users u ON u.id = m.user_id
    WHERE m.tenant_id = $1 AND m.user_id = $4 FOR KEY SHARE OF m
), stored AS (
    INSERT INTO row_shares AS s (tenant_id, user_id, entity, row_id, level, created_at, created_by)
    SELECT tenant_id, user_id, $2, $3, $5, $6, $7 FROM member
    ON CONFLICT (tenant_id, user_id, entity, row_id) DO UPDATE SET level = excluded.level
    RETURNING s.user_id, s.level, s.created_at, s.created_by, s.xmax = 0 AS is_new
), logged AS (
    INSERT INTO change_queue (tenant_id, entity, row_id, version, action, at, by, subject)
    SELECT $1, $2, $3, 0, 'shared', $6, $7, user_id FROM stored WHERE is_new AND $8
)
SELECT s.user_id, m.full_name, s.level, s.created_at, s.created_by FROM stored s JOIN member m USING (user_id)"""

_REMOVE = """
WITH ended AS (
    DELETE FROM row_shares WHERE tenant_id = $1 AND entity = $2 AND row_id = $3 AND user_id = $4 RETURNING user_id
), logged AS (
    INSERT INTO change_queue (tenant_id, entity, row_id, version, action, at, by, subject)
    SELECT $1, $2, $3, 0, 'unshared', $5, $6, user_id FROM ended WHERE $7
)
SELECT true FROM ended"""


@dataclass(frozen=True, slots=True)
class PostgresShares:
    connection: ServiceConnection
    scope: Scope

    async def of(self, model: EntityModel, row_id: UUID) -> Sequence[Share]:
        rows = await self.connection.fetch(_LIST, self._tenant, model.plural, row_id)
        return [Share(*row) for row in rows]

    async def put(self, model: EntityModel, row_id: UUID, user_id: UUID, level: ShareLevel, act: Act) -> Share | None:
        values = (self._tenant, model.plural, row_id, user_id, level, act.at, act.by, model.declaration.changes)
        row = await self.connection.fetchrow(_PUT, *values)
        return None if row is None else Share(*row)

    async def remove(self, model: EntityModel, row_id: UUID, user_id: UUID, act: Act) -> bool:
        values = (self._tenant, model.plural, row_id, user_id, act.at, act.by, model.declaration.changes)
        return bool(await self.connection.fetchval(_REMOVE, *values))

    @property
    def _tenant(self) -> UUID:
        if not isinstance(self.scope, OneTenant):
            raise BadRequest("Rows of tenants are written in one tenant at a time.")
        return self.scope.id
