"""Deliveries of webhooks, and their leases."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any
from uuid import UUID

import asyncpg

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.webhooks.webhooks import webhook_of
from application.ports.entities.changes import LogEntry, Places
from application.ports.entities.webhooks import (
    OVERDUE_AFTER,
    Claimed,
    ClaimSize,
    DeliveryListing,
    Failing,
    WebhookBacklog,
    WebhookClaim,
)
from domain.entities.webhooks.deliveries import Delivery, DeliveryOutcome
from domain.scope import OneTenant, Scope

_COLUMNS = (
    "tenant_id", "webhook_id", "id", "is_shared", "position", "entity", "row_id", "event", "created_at", "state",
    "tries", "due_at", "last_status", "last_error", "duration_ms",
)  # fmt: skip
_PAGE = """
SELECT d.*, count(*) OVER () AS total FROM webhook_deliveries d
WHERE tenant_id = $1 AND webhook_id = $2 AND (cardinality($3::text[]) = 0 OR state = ANY ($3))
AND ($4::text IS NULL OR event = $4)
ORDER BY created_at DESC, is_shared, position DESC LIMIT $5 OFFSET $6"""
_ADD = """
INSERT INTO webhook_deliveries (tenant_id, webhook_id, id, is_shared, position, entity, row_id, event, created_at,
    state, tries, due_at)
SELECT $1, $2, u.*, $9, 'waiting', 0, $9 FROM unnest(
    $3::uuid[], $4::boolean[], $5::bigint[], $6::text[], $7::uuid[], $8::text[]) u
ON CONFLICT (tenant_id, webhook_id, is_shared, position)
DO UPDATE SET state = 'waiting', tries = 0, due_at = excluded.due_at, created_at = excluded.created_at"""
_RETRY = """
UPDATE webhook_deliveries SET state = 'waiting', tries = 0, due_at = $4
WHERE tenant_id = $1 AND webhook_id = $2 AND id = $3 RETURNING true"""
# Claims run one after another, so that no two processes lease one lane.
_ONE_CLAIM = "SELECT pg_advisory_xact_lock(hashtextextended('tenantry.webhook-deliveries', 0))"
_IS_DUE = """
SELECT EXISTS (SELECT FROM webhook_deliveries WHERE state = 'waiting' AND due_at <= $1
AND (leased_until IS NULL OR leased_until <= $1))"""
_CLAIM = """
WITH lanes AS MATERIALIZED (
    SELECT w.tenant_id, w.host, bool_and(w.failing_since IS NOT NULL) AS is_failing
    FROM webhooks w
    JOIN service_accounts a ON a.tenant_id = w.tenant_id AND a.id = w.service_account_id
        AND a.is_active AND a.deleted_at IS NULL
    JOIN tenants t ON t.id = w.tenant_id AND t.is_active AND t.deleted_at IS NULL
    WHERE w.is_active AND EXISTS (
        SELECT FROM webhook_deliveries d
        WHERE d.tenant_id = w.tenant_id AND d.webhook_id = w.id AND d.state = 'waiting' AND d.due_at <= $1)
    GROUP BY w.tenant_id, w.host
    HAVING NOT EXISTS (
        SELECT FROM webhooks o JOIN webhook_deliveries l ON l.tenant_id = o.tenant_id AND l.webhook_id = o.id
        WHERE o.tenant_id = w.tenant_id AND o.host = w.host AND l.leased_until > $1)),
ranked AS (
    SELECT tenant_id, host, row_number() OVER (PARTITION BY is_failing ORDER BY random()) AS place, is_failing
    FROM lanes),
chosen AS MATERIALIZED (
    SELECT w.* FROM (
        SELECT tenant_id, host FROM ranked WHERE place <= CASE WHEN is_failing THEN $3::bigint ELSE $2::bigint END
        ORDER BY is_failing, place LIMIT $2) r
    JOIN webhooks w ON w.tenant_id = r.tenant_id AND w.host = r.host AND w.is_active
    JOIN service_accounts a ON a.tenant_id = w.tenant_id AND a.id = w.service_account_id
        AND a.is_active AND a.deleted_at IS NULL),
picked AS MATERIALIZED (
    SELECT p.* FROM chosen c, LATERAL (
        SELECT d.tenant_id, d.webhook_id, d.is_shared, d.position FROM webhook_deliveries d
        WHERE d.tenant_id = c.tenant_id AND d.webhook_id = c.id AND d.state = 'waiting' AND d.due_at <= $1
        AND (c.order_by = 'none' OR NOT EXISTS (
            SELECT FROM webhook_deliveries e
            WHERE e.tenant_id = d.tenant_id AND e.webhook_id = d.webhook_id AND e.entity = d.entity
            AND e.row_id = d.row_id AND e.is_shared = d.is_shared AND e.position < d.position
            AND e.state = 'waiting'))
        ORDER BY d.due_at, d.position
        LIMIT CASE WHEN c.failing_since IS NULL THEN $4::bigint ELSE 1 END) p),
leased AS (
    UPDATE webhook_deliveries d SET leased_until = $1 + $5::interval FROM picked p
    WHERE d.tenant_id = p.tenant_id AND d.webhook_id = p.webhook_id AND d.is_shared = p.is_shared
    AND d.position = p.position RETURNING d.*)
SELECT l.*, n.version, n.action, n.at, n.by, n.subject, n.data, n.was
FROM leased l
LEFT JOIN changes n ON n.position = l.position
    AND CASE WHEN l.is_shared THEN n.tenant_id IS NULL ELSE n.tenant_id = l.tenant_id END
ORDER BY l.tenant_id, l.webhook_id, l.due_at, l.position"""
_WEBHOOKS = """
SELECT w.* FROM webhooks w
JOIN (SELECT DISTINCT * FROM unnest($1::uuid[], $2::uuid[]) u (tenant_id, id)) u
    ON u.tenant_id = w.tenant_id AND u.id = w.id"""
# The positions of a stream without entries are those of its head.
_PLACES = """
SELECT coalesce(
    (SELECT position FROM changes WHERE tenant_id = $1 AND at < $2 ORDER BY position DESC LIMIT 1),
    (SELECT position - 1 FROM changes WHERE tenant_id = $1 ORDER BY position LIMIT 1),
    (SELECT position FROM feed_heads WHERE tenant_id = $1), 0),
coalesce(
    (SELECT position FROM changes WHERE tenant_id IS NULL AND at < $2 ORDER BY position DESC LIMIT 1),
    (SELECT position - 1 FROM changes WHERE tenant_id IS NULL ORDER BY position LIMIT 1),
    (SELECT position FROM feed_heads WHERE tenant_id IS NULL), 0)"""
_RELEASE = """
UPDATE webhook_deliveries d SET leased_until = NULL
FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) u (tenant_id, webhook_id, id)
WHERE d.tenant_id = u.tenant_id AND d.webhook_id = u.webhook_id AND d.id = u.id"""
_FINISH = """
WITH told AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::timestamptz[], $6::int[], $7::text[],
        $8::int[], $9::boolean[])
    WITH ORDINALITY u (tenant_id, webhook_id, id, state, due_at, status, error, duration_ms, is_success, place)),
done AS (
    UPDATE webhook_deliveries d SET state = o.state, tries = d.tries + 1, due_at = o.due_at, leased_until = NULL,
        last_status = o.status, last_error = o.error, duration_ms = o.duration_ms
    FROM told o WHERE d.tenant_id = o.tenant_id AND d.webhook_id = o.webhook_id AND d.id = o.id),
latest AS (
    SELECT DISTINCT ON (tenant_id, webhook_id) tenant_id, webhook_id, status, is_success,
        bool_or(is_success) OVER (PARTITION BY tenant_id, webhook_id) AS any_success
    FROM told WHERE is_success IS NOT NULL ORDER BY tenant_id, webhook_id, place DESC)
UPDATE webhooks w SET last_status = l.status,
    last_success_at = CASE WHEN l.any_success THEN $10 ELSE w.last_success_at END,
    failing_since = CASE WHEN l.is_success THEN NULL WHEN l.any_success THEN $10
        ELSE coalesce(w.failing_since, $10) END
FROM latest l WHERE w.tenant_id = l.tenant_id AND w.id = l.webhook_id
RETURNING w.tenant_id, w.id, w.failing_since"""

# A disabled webhook, and one whose account is off, send nothing, so their deliveries are not overdue.
_BACKLOG = """
SELECT count(*) FILTER (WHERE w.is_active AND w.failing_since IS NOT NULL),
    count(*) FILTER (WHERE w.disabled_at IS NOT NULL), (
    SELECT count(*) FROM webhook_deliveries d JOIN webhooks o ON o.tenant_id = d.tenant_id AND o.id = d.webhook_id
    JOIN service_accounts a ON a.tenant_id = o.tenant_id AND a.id = o.service_account_id
    WHERE d.state = 'waiting' AND d.due_at <= $1 AND o.is_active AND o.failing_since IS NULL
    AND a.is_active AND a.deleted_at IS NULL),
    (SELECT count(*) FROM webhook_deliveries WHERE state = 'waiting'),
    (SELECT count(*) FROM webhook_deliveries WHERE state = 'given-up')
FROM webhooks w"""


@dataclass(frozen=True, slots=True)
class PostgresDeliveries:
    connection: ServiceConnection
    scope: Scope

    async def page(self, listing: DeliveryListing) -> tuple[list[Delivery], int]:
        rows = await self._rows(listing, listing.page_size, (listing.page - 1) * listing.page_size)
        if rows or listing.page == 1:
            return [_delivery(row) for row in rows], rows[0]["total"] if rows else 0
        # A page past the end has no rows, so read the total from the first page.
        first = await self._rows(listing, 1, 0)
        return [], first[0]["total"] if first else 0

    async def _rows(self, listing: DeliveryListing, most: int, offset: int) -> list[asyncpg.Record]:
        which = (listing.tenant_id, listing.webhook_id, list(listing.states), listing.event)
        return list(await self.connection.fetch(_PAGE, *which, most, offset))

    async def add(self, deliveries: Sequence[Delivery]) -> None:
        if not deliveries:
            return
        first = deliveries[0]
        names = ("id", "is_shared", "position", "entity", "row_id", "event")
        columns = [[getattr(delivery, name) for delivery in deliveries] for name in names]
        await self.connection.execute(_ADD, first.tenant_id, first.webhook_id, *columns, first.created_at)

    async def retry(self, tenant_id: UUID, webhook_id: UUID, delivery_id: UUID, now: datetime) -> bool:
        return bool(await self.connection.fetchval(_RETRY, tenant_id, webhook_id, delivery_id, now))

    async def places_at(self, at: datetime) -> Places:
        row = await self.connection.fetchrow(_PLACES, self._tenant, at)
        assert row is not None
        return Places(*row)

    async def claim(self, now: datetime, lease: timedelta, size: ClaimSize) -> list[WebhookClaim]:
        # An idle service asks one index before it waits for other claims.
        if not await self.connection.fetchval(_IS_DUE, now):
            return []
        await self.connection.execute(_ONE_CLAIM)
        rows = await self.connection.fetch(_CLAIM, now, size.lanes, size.failing_lanes, size.deliveries, lease)
        keys = [[row[name] for row in rows] for name in ("tenant_id", "webhook_id")]
        webhooks = {row["id"]: webhook_of(row) for row in await self.connection.fetch(_WEBHOOKS, *keys)}
        groups = groupby(rows, key=lambda row: row["webhook_id"])
        return [WebhookClaim(webhooks[webhook_id], [_claimed(row) for row in found]) for webhook_id, found in groups]

    async def release(self, deliveries: Sequence[Delivery]) -> None:
        await self.connection.execute(_RELEASE, *_keys(deliveries))

    async def finish(self, outcomes: Sequence[DeliveryOutcome], now: datetime) -> list[Failing]:
        rows = await self.connection.fetch(
            _FINISH,
            *_keys([outcome.delivery for outcome in outcomes]),
            [outcome.state for outcome in outcomes],
            [outcome.due_at for outcome in outcomes],
            [outcome.attempt.status for outcome in outcomes],
            [outcome.attempt.error for outcome in outcomes],
            [outcome.attempt.duration_ms for outcome in outcomes],
            [outcome.attempt.is_success if outcome.attempt.was_sent else None for outcome in outcomes],
            now,
        )
        return [Failing(*row) for row in rows if row["failing_since"] is not None]

    async def backlog(self, now: datetime) -> WebhookBacklog:
        row = await self.connection.fetchrow(_BACKLOG, now - OVERDUE_AFTER)
        assert row is not None
        return WebhookBacklog(*row)

    @property
    def _tenant(self) -> UUID:
        assert isinstance(self.scope, OneTenant)
        return self.scope.id


def _keys(deliveries: Sequence[Delivery]) -> list[list[UUID]]:
    return [[getattr(each, name) for each in deliveries] for name in ("tenant_id", "webhook_id", "id")]


def _delivery(row: Any) -> Delivery:
    return Delivery(**{name: row[name] for name in _COLUMNS})


def _claimed(row: asyncpg.Record) -> Claimed:
    delivery = _delivery(row)
    if row["action"] is None:
        return Claimed(delivery, None)
    entry = LogEntry(
        position=delivery.position,
        entity=delivery.entity,
        row_id=delivery.row_id,
        version=row["version"],
        action=row["action"],
        at=row["at"],
        by=row["by"],
        subject=row["subject"],
        data=row["data"],
        was=row["was"],
    )
    return Claimed(delivery, entry)
