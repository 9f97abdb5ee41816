"""Marks of former members: those on mailboxes outlive the account."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from adapters.postgres.connection.connections import ServiceConnection
from application.ports.identity.users import AddressMark

_MARK = """
INSERT INTO former_addresses (tenant_id, digest, marked_at)
SELECT tenant_id, digest, $3 FROM unnest($1::uuid[], $2::bytea[]) AS marked (tenant_id, digest)
ON CONFLICT (tenant_id, digest) DO UPDATE SET marked_at = excluded.marked_at"""
_TENANTS = "SELECT tenant_id FROM former_members WHERE user_id = $1 ORDER BY tenant_id"
_IS_FORMER = """
SELECT EXISTS (SELECT FROM former_members WHERE tenant_id = $1 AND user_id = $2)
    OR EXISTS (SELECT FROM former_addresses WHERE tenant_id = $1 AND digest = ANY ($3::bytea[]))"""
_READMIT = """
WITH account AS (DELETE FROM former_members WHERE tenant_id = $1 AND user_id = $2)
DELETE FROM former_addresses WHERE tenant_id = $1 AND digest = ANY ($3::bytea[])"""


@dataclass(frozen=True, slots=True)
class PostgresFormerMembers:
    connection: ServiceConnection

    async def mark(self, marks: Sequence[AddressMark], at: datetime) -> None:
        tenants, digests = [mark.tenant_id for mark in marks], [mark.digest for mark in marks]
        await self.connection.execute(_MARK, tenants, digests, at)

    async def tenants_of(self, user_id: UUID) -> list[UUID]:
        return [row["tenant_id"] for row in await self.connection.fetch(_TENANTS, user_id)]

    async def is_former(self, tenant_id: UUID, user_id: UUID, digests: Sequence[bytes]) -> bool:
        return bool(await self.connection.fetchval(_IS_FORMER, tenant_id, user_id, list(digests)))

    async def readmit(self, tenant_id: UUID, user_id: UUID, digests: Sequence[bytes]) -> None:
        await self.connection.execute(_READMIT, tenant_id, user_id, list(digests))
