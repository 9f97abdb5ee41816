"""Domains of tenants, join requests, and marks of former members, which outlive the account."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg
from msgspec.structs import astuple

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.connection.failures import taken
from application.ports.identity.domains import DomainUsage, ListedDomain, ListedJoinRequest
from application.ports.identity.users import AddressMark
from domain.identity.domains import JoinRequest, JoinStatus, TenantDomain
from domain.identity.users import Role

TAKEN = {"uq_tenant_domains_verified": ("domain", "is verified already: contact the service operator")}

_ALL = """
SELECT tenant_id, domain, mode, role_ids, proof, state, set_by, created_at, checked_at, ARRAY(
    SELECT r.name FROM roles r
    WHERE r.id = ANY (d.role_ids) AND (r.tenant_id = d.tenant_id OR r.tenant_id IS NULL)
    ORDER BY r.name, r.id) AS roles
FROM tenant_domains d WHERE tenant_id = $1 ORDER BY domain"""
# Lock first: the next statement must see additions of earlier transactions.
_TAKE_TURN = "SELECT pg_advisory_xact_lock(hashtextextended('tenantry.domains:' || $1::text, 0))"
_LOCK = """
SELECT tenant_id, domain, mode, role_ids, proof, state, set_by, created_at, checked_at
FROM tenant_domains WHERE tenant_id = $1 AND domain = $2 FOR UPDATE"""
_STANDING = """
SELECT EXISTS (SELECT FROM tenant_domains WHERE domain = $2 AND tenant_id <> $1 AND state = 'verified') AS is_taken,
    (SELECT count(*) FROM tenant_domains WHERE tenant_id = $1) AS count"""
_SAVE = """
INSERT INTO tenant_domains (tenant_id, domain, mode, role_ids, proof, state, set_by, created_at, checked_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (tenant_id, domain) DO UPDATE
SET mode = excluded.mode, role_ids = excluded.role_ids, proof = excluded.proof, state = excluded.state,
    set_by = excluded.set_by, checked_at = excluded.checked_at"""
_REMOVE = "DELETE FROM tenant_domains WHERE tenant_id = $1 AND domain = $2 RETURNING true"
_JOINABLE = """
SELECT d.domain FROM tenant_domains d JOIN tenants t ON t.id = d.tenant_id
WHERE d.state = 'verified' AND d.mode <> 'off' AND t.is_active AND t.deleted_at IS NULL"""
_VERIFIED = """
SELECT d.tenant_id, d.domain, d.mode, d.role_ids, d.proof, d.state, d.set_by, d.created_at, d.checked_at
FROM tenant_domains d JOIN tenants t ON t.id = d.tenant_id
WHERE d.domain = $1 AND d.state = 'verified' AND t.is_active AND t.deleted_at IS NULL"""
_TAKE_DUE = """
UPDATE tenant_domains SET checked_at = $2
WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM tenant_domains WHERE state = 'verified' AND checked_at <= $1
    ORDER BY checked_at LIMIT $3 FOR UPDATE SKIP LOCKED))
RETURNING tenant_id, domain, mode, role_ids, proof, state, set_by, created_at, checked_at"""

_ADD_REQUEST = """
INSERT INTO join_requests (tenant_id, user_id, domain, created_at, status, ended_at, ended_by)
VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING true"""
# Look up accounts only for the rows of the page.
PAGE = """
SELECT j.tenant_id, j.user_id, j.domain, j.created_at, j.status, j.ended_at, j.ended_by, u.email, u.full_name
FROM (
    SELECT tenant_id, user_id, domain, created_at, status, ended_at, ended_by FROM join_requests
    WHERE tenant_id = $1 AND status = 'pending' ORDER BY created_at, user_id LIMIT $2 OFFSET $3) j
JOIN users u ON u.id = j.user_id ORDER BY j.created_at, j.user_id"""
_TOTAL = "SELECT count(*) FROM join_requests WHERE tenant_id = $1 AND status = 'pending'"
_LOCK_REQUEST = """
SELECT tenant_id, user_id, domain, created_at, status, ended_at, ended_by FROM join_requests
WHERE tenant_id = $1 AND user_id = $2 FOR UPDATE"""
_END_REQUEST = """
UPDATE join_requests SET status = $3, ended_at = $4, ended_by = $5
WHERE tenant_id = $1 AND user_id = $2 AND status = 'pending' RETURNING true"""

_ROLES = """
SELECT id, tenant_id, name, description, permissions
FROM roles WHERE (tenant_id = $1 OR tenant_id IS NULL) AND (id = ANY ($2) OR name = $3)
ORDER BY tenant_id IS NULL, name"""
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
class PostgresTenantDomains:
    connection: ServiceConnection

    async def all(self, tenant_id: UUID) -> list[ListedDomain]:
        return [ListedDomain(_domain(row), tuple(row["roles"])) for row in await self.connection.fetch(_ALL, tenant_id)]

    async def lock(self, tenant_id: UUID, domain: str) -> TenantDomain | None:
        row = await self.connection.fetchrow(_LOCK, tenant_id, domain)
        return None if row is None else _domain(row)

    async def usage(self, tenant_id: UUID, domain: str) -> DomainUsage:
        await self.connection.execute(_TAKE_TURN, str(tenant_id))
        row = await self.connection.fetchrow(_STANDING, tenant_id, domain)
        assert row is not None
        return DomainUsage(row["is_taken"], row["count"])

    async def save(self, domain: TenantDomain) -> None:
        with taken(TAKEN):
            await self.connection.execute(_SAVE, *astuple(domain))

    async def remove(self, tenant_id: UUID, domain: str) -> bool:
        return bool(await self.connection.fetchval(_REMOVE, tenant_id, domain))

    async def joinable(self) -> list[str]:
        return [row["domain"] for row in await self.connection.fetch(_JOINABLE)]

    async def verified(self, domain: str) -> TenantDomain | None:
        row = await self.connection.fetchrow(_VERIFIED, domain)
        return None if row is None else _domain(row)

    async def take_due(self, before: datetime, at: datetime, most: int) -> list[TenantDomain]:
        return [_domain(row) for row in await self.connection.fetch(_TAKE_DUE, before, at, most)]


@dataclass(frozen=True, slots=True)
class PostgresJoinRequests:
    connection: ServiceConnection

    async def add(self, request: JoinRequest) -> bool:
        return bool(await self.connection.fetchval(_ADD_REQUEST, *astuple(request)))

    async def page(self, tenant_id: UUID, page: int, page_size: int) -> tuple[list[ListedJoinRequest], int]:
        rows = await self.connection.fetch(PAGE, tenant_id, page_size, (page - 1) * page_size)
        total: int = await self.connection.fetchval(_TOTAL, tenant_id)
        return [ListedJoinRequest(_request(row), row["email"], row["full_name"]) for row in rows], total

    async def lock(self, tenant_id: UUID, user_id: UUID) -> JoinRequest | None:
        row = await self.connection.fetchrow(_LOCK_REQUEST, tenant_id, user_id)
        return None if row is None else _request(row)

    async def end(self, tenant_id: UUID, user_id: UUID, status: JoinStatus, at: datetime, by: UUID | None) -> bool:
        return bool(await self.connection.fetchval(_END_REQUEST, tenant_id, user_id, status, at, by))

    async def roles(self, tenant_id: UUID, role_ids: Sequence[UUID], name: str) -> list[Role]:
        rows = await self.connection.fetch(_ROLES, tenant_id, list(role_ids), name)
        return [Role(**{**row, "permissions": tuple(row["permissions"])}) for row in rows]


def _domain(row: asyncpg.Record) -> TenantDomain:
    values = {name: row[name] for name in TenantDomain.__struct_fields__}
    return TenantDomain(**{**values, "role_ids": tuple(row["role_ids"])})


def _request(row: asyncpg.Record) -> JoinRequest:
    return JoinRequest(**{name: row[name] for name in JoinRequest.__struct_fields__})


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
