"""Invitations, by tenant and by address."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg
import msgspec
from msgspec.structs import asdict

from adapters.postgres.connection.connections import ServiceConnection
from application.ports.identity.invitations import (
    InvitationListing,
    InvitationUsage,
    ListedInvitation,
    NewInvitation,
    Offer,
)
from application.ports.runtime import Ids
from domain.identity.invitations import DAY, Invitation, InvitationStatus
from domain.identity.users import Branding, Role

COLUMNS = Invitation.__struct_fields__

_branding = msgspec.json.Decoder(Branding)

# Lock first: the next statement must see counts of earlier transactions. Lock in one order against deadlocks.
_TAKE_TURNS = """
SELECT pg_advisory_xact_lock(number) FROM (
    SELECT hashtextextended('tenantry.invitations:' || name, 0) AS number FROM unnest($1::text[]) AS turn (name)
    ORDER BY number OFFSET 0) AS turns"""
# Expire old invitations first: the unique index covers only the status, so an INSERT in this statement would conflict.
_STANDING = """
WITH expired AS (
    UPDATE invitations SET status = 'expired', ended_at = expires_at
    WHERE tenant_id = $1 AND email_key = ANY ($2) AND status = 'pending' AND expires_at <= $3)
SELECT key.email_key, (
    SELECT count(*) FROM invitations i CROSS JOIN unnest(i.mailed_at) AS mailed (at)
    WHERE i.email_key = key.email_key AND mailed.at > $4) AS mails, EXISTS (
    SELECT FROM invitations i
    WHERE i.tenant_id = $1 AND i.email_key = key.email_key AND i.status = 'pending'
    AND i.expires_at > $3) AS is_pending,
    (SELECT count(*) FROM invitations WHERE tenant_id = $1 AND created_at > $4) AS made
FROM unnest($2::text[]) AS key (email_key)"""
# One statement, so that a hundred invitations are as fast as one.
_ADD = """
WITH given AS (
    SELECT * FROM jsonb_to_recordset($1::text::jsonb) AS g (
        tenant_id uuid, id uuid, email text, email_key text, role_ids uuid[], invited_by uuid, created_at timestamptz,
        expires_at timestamptz, hash text, mailed_at timestamptz[], mail_id uuid, line_id uuid, actor_id uuid,
        action text, address text, request_id text)),
made AS (
    INSERT INTO invitations (
        tenant_id, id, email, email_key, role_ids, invited_by, created_at, expires_at, hash, mailed_at)
    SELECT tenant_id, id, email, email_key, role_ids, invited_by, created_at, expires_at, hash, mailed_at FROM given
    ON CONFLICT DO NOTHING RETURNING id),
mailed AS (
    INSERT INTO outbox (id, kind, recipient, name, address, at, due_at)
    SELECT mail_id, 'invitation', email_key, '', '', created_at, created_at
    FROM given JOIN made USING (id) WHERE mail_id IS NOT NULL),
noted AS (
    INSERT INTO audit_events (tenant_id, id, actor_id, action, target_id, address, request_id, occurred_at)
    SELECT tenant_id, line_id, actor_id, action, id, address, request_id, created_at FROM given JOIN made USING (id))
SELECT count(*) FROM made"""
# Look up role names only for the rows of the page.
PAGE = """
SELECT tenant_id, id, email, email_key, role_ids, invited_by, created_at, expires_at, hash, status, ended_at,
    accepted_by, mailed_at, ARRAY(
        SELECT r.name FROM roles r
        WHERE r.id = ANY (i.role_ids) AND (r.tenant_id = i.tenant_id OR r.tenant_id IS NULL)
        ORDER BY r.name, r.id) AS roles
FROM (
    SELECT tenant_id, id, email, email_key, role_ids, invited_by, created_at, expires_at, hash, status, ended_at,
        accepted_by, mailed_at
    FROM invitations
    WHERE tenant_id = $1 AND (
        $2::text[] IS NULL
        OR CASE WHEN status = 'pending' AND expires_at <= $3 THEN 'expired' ELSE status END = ANY ($2))
    ORDER BY created_at DESC, id LIMIT $4 OFFSET $5) i
ORDER BY created_at DESC, id"""
_TOTAL = """
SELECT count(*) FROM invitations
WHERE tenant_id = $1 AND (
    $2::text[] IS NULL
    OR CASE WHEN status = 'pending' AND expires_at <= $3 THEN 'expired' ELSE status END = ANY ($2))"""
_LOCK = """
SELECT tenant_id, id, email, email_key, role_ids, invited_by, created_at, expires_at, hash, status, ended_at,
    accepted_by, mailed_at
FROM invitations WHERE tenant_id = $1 AND id = $2 FOR UPDATE"""
_RENEW = """
UPDATE invitations SET invited_by = $3, hash = $4, expires_at = $5, mailed_at = $6
WHERE tenant_id = $1 AND id = $2 AND status = 'pending'"""
_END = """
UPDATE invitations SET status = $3, ended_at = $4, accepted_by = $5
WHERE tenant_id = $1 AND id = $2 AND status = 'pending' RETURNING true"""
_BY_HASH = """
SELECT i.tenant_id, i.id, i.email, i.email_key, i.role_ids, i.invited_by, i.created_at, i.expires_at, i.hash, i.status,
    i.ended_at, i.accepted_by, i.mailed_at, t.name AS tenant_name,
    t.identifier AS tenant_identifier, t.is_active AND t.deleted_at IS NULL AS tenant_is_open,
    coalesce(inviter.full_name, program.name) AS inviter_name,
    account.full_name AS account_name, (t.settings -> 'branding')::text AS branding
FROM invitations i JOIN tenants t ON t.id = i.tenant_id LEFT JOIN users inviter ON inviter.id = i.invited_by
LEFT JOIN service_accounts program
    ON program.tenant_id = i.tenant_id AND program.id = i.invited_by AND program.deleted_at IS NULL
LEFT JOIN users account ON account.email_key = i.email_key
WHERE i.hash = $1"""
_OF_ADDRESS = """
SELECT i.tenant_id, i.id, i.email, i.email_key, i.role_ids, i.invited_by, i.created_at, i.expires_at, i.hash, i.status,
    i.ended_at, i.accepted_by, i.mailed_at, t.name AS tenant_name, t.identifier AS tenant_identifier,
    true AS tenant_is_open,
    coalesce(inviter.full_name, program.name) AS inviter_name, account.full_name AS account_name,
    (t.settings -> 'branding')::text AS branding
FROM invitations i JOIN tenants t ON t.id = i.tenant_id LEFT JOIN users inviter ON inviter.id = i.invited_by
LEFT JOIN service_accounts program
    ON program.tenant_id = i.tenant_id AND program.id = i.invited_by AND program.deleted_at IS NULL
LEFT JOIN users account ON account.email_key = i.email_key
WHERE i.email_key = $1 AND i.status = 'pending' AND i.expires_at > $2 AND t.is_active AND t.deleted_at IS NULL
AND coalesce(inviter.id, program.id) IS NOT NULL
ORDER BY i.created_at DESC, i.id"""
# Use the memberships: the primary key of invitations begins with the tenant.
_ACCEPTED = """
SELECT i.tenant_id, i.id, i.email, i.email_key, i.role_ids, i.invited_by, i.created_at, i.expires_at, i.hash, i.status,
    i.ended_at, i.accepted_by, i.mailed_at
FROM memberships m JOIN invitations i ON i.tenant_id = m.tenant_id AND i.id = $2
WHERE m.user_id = $1 AND i.accepted_by = $1"""
# KEY SHARE, so that no transaction can delete a role before the membership receives it.
_ROLES = """
SELECT id, tenant_id, name, description, permissions FROM roles
WHERE id = ANY ($2) AND (tenant_id = $1 OR tenant_id IS NULL) ORDER BY name, id FOR KEY SHARE"""


@dataclass(frozen=True, slots=True)
class PostgresInvitations:
    connection: ServiceConnection
    ids: Ids

    async def usage(self, tenant_id: UUID, email_keys: Sequence[str], now: datetime) -> InvitationUsage:
        await self.connection.execute(_TAKE_TURNS, [str(tenant_id), *email_keys])
        rows = await self.connection.fetch(_STANDING, tenant_id, list(email_keys), now, now - DAY)
        return InvitationUsage(
            made=rows[0]["made"] if rows else 0,
            mails={row["email_key"]: row["mails"] for row in rows},
            pending=frozenset(row["email_key"] for row in rows if row["is_pending"]),
        )

    async def add(self, sent: Sequence[NewInvitation]) -> int:
        rows = msgspec.json.encode([self._row(new) for new in sent]).decode()
        added: int = await self.connection.fetchval(_ADD, rows)
        return added

    def _row(self, new: NewInvitation) -> dict[str, object]:
        line = new.line
        return {
            **asdict(new.invitation),
            "mail_id": new.mail.id if new.mail else None,
            "line_id": self.ids.new(),
            "actor_id": line.actor_id,
            "action": line.action,
            "address": line.address,
            "request_id": line.request_id,
        }

    async def page(self, listing: InvitationListing, now: datetime) -> tuple[list[ListedInvitation], int]:
        chosen = (listing.tenant_id, sorted(listing.statuses) or None, now)
        skipped = (listing.page - 1) * listing.page_size
        rows = await self.connection.fetch(PAGE, *chosen, listing.page_size, skipped)
        total: int = await self.connection.fetchval(_TOTAL, *chosen)
        return [ListedInvitation(_invitation(row), tuple(row["roles"])) for row in rows], total

    async def lock(self, tenant_id: UUID, invitation_id: UUID) -> Invitation | None:
        row = await self.connection.fetchrow(_LOCK, tenant_id, invitation_id)
        return None if row is None else _invitation(row)

    async def renew(self, invitation: Invitation) -> None:
        await self.connection.execute(
            _RENEW,
            invitation.tenant_id,
            invitation.id,
            invitation.invited_by,
            invitation.hash,
            invitation.expires_at,
            list(invitation.mailed_at),
        )

    async def end(
        self, tenant_id: UUID, invitation_id: UUID, status: InvitationStatus, at: datetime, accepted_by: UUID | None
    ) -> bool:
        return bool(await self.connection.fetchval(_END, tenant_id, invitation_id, status, at, accepted_by))


@dataclass(frozen=True, slots=True)
class PostgresReceivedInvitations:
    connection: ServiceConnection

    async def by_hash(self, hashed: str) -> Offer | None:
        row = await self.connection.fetchrow(_BY_HASH, hashed)
        return None if row is None else _offer(row)

    async def of_address(self, email_key: str, now: datetime) -> list[Offer]:
        return [_offer(row) for row in await self.connection.fetch(_OF_ADDRESS, email_key, now)]

    async def accepted(self, user_id: UUID, invitation_id: UUID) -> Invitation | None:
        row = await self.connection.fetchrow(_ACCEPTED, user_id, invitation_id)
        return None if row is None else _invitation(row)

    async def roles(self, tenant_id: UUID, role_ids: Sequence[UUID]) -> list[Role]:
        rows = await self.connection.fetch(_ROLES, tenant_id, list(role_ids))
        return [Role(**{**row, "permissions": tuple(row["permissions"])}) for row in rows]


def _invitation(row: asyncpg.Record) -> Invitation:
    values = {name: row[name] for name in COLUMNS}
    return Invitation(**{**values, "role_ids": tuple(row["role_ids"]), "mailed_at": tuple(row["mailed_at"])})


def _offer(row: asyncpg.Record) -> Offer:
    return Offer(
        invitation=_invitation(row),
        tenant_name=row["tenant_name"],
        tenant_identifier=row["tenant_identifier"],
        tenant_is_open=row["tenant_is_open"],
        inviter_name=row["inviter_name"],
        account_name=row["account_name"],
        branding=_branding.decode(row["branding"]) if row["branding"] else Branding(),
    )
