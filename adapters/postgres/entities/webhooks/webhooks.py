"""Webhooks of tenants."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg

from adapters.postgres.connection.connections import ServiceConnection
from application.ports.entities.webhooks import ListedWebhook
from domain.entities.webhooks.webhooks import Replay, Webhook

COLUMNS = (
    "tenant_id", "id", "service_account_id", "url", "host", "description", "events", "content", "signature", "order_by",
    "is_active", "sealed", "sealed_before", "before_until", "position", "shared_position", "created_at", "created_by",
    "disabled_at", "failing_since", "last_success_at", "last_status",
)  # fmt: skip
REPLAY_FIELDS = ("own", "own_until", "shared", "shared_until")
_REPLAY = ("replay_position", "replay_until", "replay_shared_position", "replay_shared_until")

_LISTED = """
SELECT w.*, (
    SELECT count(*) FROM webhook_deliveries d
    WHERE d.tenant_id = w.tenant_id AND d.webhook_id = w.id AND d.state = 'waiting') AS waiting
FROM webhooks w WHERE w.tenant_id = $1 AND ($2::uuid IS NULL OR w.id = $2) ORDER BY w.created_at, w.id"""
_LOCK_TENANT = "SELECT pg_advisory_xact_lock(hashtextextended('tenantry.webhooks:' || $1::uuid, 0))"
_COUNT = "SELECT count(*) FROM webhooks WHERE tenant_id = $1"
_LOCK = "SELECT * FROM webhooks WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE"
_TRY_LOCK = f"{_LOCK} SKIP LOCKED"
_ADD = """
INSERT INTO webhooks (tenant_id, id, service_account_id, url, host, description, events, content, signature, order_by,
    is_active, sealed, sealed_before, before_until, position, shared_position, created_at, created_by, disabled_at,
    failing_since, last_success_at, last_status)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)"""
_SAVE = """
UPDATE webhooks SET service_account_id = $3, url = $4, host = $5, description = $6, events = $7, content = $8,
    order_by = $9, is_active = $10, sealed = $11, sealed_before = $12, before_until = $13, position = $14,
    shared_position = $15, replay_position = $16, replay_until = $17, replay_shared_position = $18,
    replay_shared_until = $19, disabled_at = $20,
    failing_since = CASE WHEN $10 AND is_active THEN failing_since ELSE $21 END
WHERE tenant_id = $1 AND id = $2"""
_AFTER = "SELECT * FROM webhooks WHERE $1::uuid IS NULL OR id > $1 ORDER BY id LIMIT $2"
_REMOVE = "DELETE FROM webhooks WHERE tenant_id = $1 AND id = $2 RETURNING true"
# Shared rows have a head without a tenant.
_BEHIND = """
SELECT w.tenant_id, w.id FROM webhooks w
LEFT JOIN feed_heads h ON h.tenant_id = w.tenant_id
LEFT JOIN feed_heads s ON s.tenant_id IS NULL
WHERE w.is_active AND (h.position > w.position OR s.position > w.shared_position OR w.replay_until IS NOT NULL)
ORDER BY random() LIMIT $1"""


@dataclass(frozen=True, slots=True)
class PostgresWebhooks:
    connection: ServiceConnection

    async def all(self, tenant_id: UUID) -> list[ListedWebhook]:
        rows = await self.connection.fetch(_LISTED, tenant_id, None)
        return [ListedWebhook(webhook_of(row), row["waiting"]) for row in rows]

    async def get(self, tenant_id: UUID, webhook_id: UUID) -> ListedWebhook | None:
        row = await self.connection.fetchrow(_LISTED, tenant_id, webhook_id)
        return None if row is None else ListedWebhook(webhook_of(row), row["waiting"])

    async def count(self, tenant_id: UUID) -> int:
        # Lock first: the next statement's snapshot begins after the lock.
        await self.connection.execute(_LOCK_TENANT, tenant_id)
        return int(await self.connection.fetchval(_COUNT, tenant_id))

    async def lock(self, tenant_id: UUID, webhook_id: UUID, *, waits: bool) -> Webhook | None:
        row = await self.connection.fetchrow(_LOCK if waits else _TRY_LOCK, tenant_id, webhook_id)
        return None if row is None else webhook_of(row)

    async def add(self, webhook: Webhook) -> None:
        await self.connection.execute(_ADD, *(_value(webhook, name) for name in COLUMNS))

    async def save(self, webhook: Webhook) -> None:
        positions = [None] * 4 if webhook.replay is None else [getattr(webhook.replay, name) for name in REPLAY_FIELDS]
        named = ("tenant_id", "id", "service_account_id", "url", "host", "description", "events", "content", "order_by")
        rest = ("is_active", "sealed", "sealed_before", "before_until", "position", "shared_position")
        values = (_value(webhook, name) for name in (*named, *rest))
        await self.connection.execute(_SAVE, *values, *positions, webhook.disabled_at, webhook.failing_since)

    async def remove(self, tenant_id: UUID, webhook_id: UUID) -> bool:
        return bool(await self.connection.fetchval(_REMOVE, tenant_id, webhook_id))

    async def after(self, last: UUID | None, most: int) -> list[Webhook]:
        return [webhook_of(row) for row in await self.connection.fetch(_AFTER, last, most)]

    async def behind(self, most: int) -> list[tuple[UUID, UUID]]:
        return [(row["tenant_id"], row["id"]) for row in await self.connection.fetch(_BEHIND, most)]


def webhook_of(row: asyncpg.Record) -> Webhook:
    """Return the webhook of a row of the table, which may have further columns."""
    values: dict[str, Any] = {name: row[name] for name in COLUMNS}
    positions = [row[name] for name in _REPLAY]
    replay = None if None in positions else Replay(*positions)
    return Webhook(**{**values, "events": tuple(values["events"])}, replay=replay)


def _value(webhook: Webhook, name: str) -> object:
    return list(webhook.events) if name == "events" else getattr(webhook, name)
