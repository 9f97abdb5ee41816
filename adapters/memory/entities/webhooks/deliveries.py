"""Deliveries of webhooks, and their leases."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

from msgspec.structs import replace

from adapters.memory.entities.changes.log import TABLE, MemoryLog
from adapters.memory.entities.state import Row
from adapters.memory.entities.webhooks.state import DeliveryKey, StoredDelivery
from adapters.memory.store import Access, Store
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
from domain.entities.webhooks.webhooks import Webhook
from domain.errors import CursorExpired
from domain.scope import OneTenant, Scope

_Lane = tuple[UUID, str]


@dataclass(frozen=True)
class MemoryDeliveries:
    access: Access
    scope: Scope

    async def page(self, listing: DeliveryListing) -> tuple[list[Delivery], int]:
        stored = (each.delivery for each in self.access.read().webhook_deliveries.values())
        found = [delivery for delivery in stored if _is_listed(delivery, listing)]
        found.sort(key=lambda each: (-each.created_at.timestamp(), each.is_shared, -each.position))
        start = (listing.page - 1) * listing.page_size
        return found[start : start + listing.page_size], len(found)

    async def add(self, deliveries: Sequence[Delivery]) -> None:
        async with self.access.write() as store:
            for delivery in deliveries:
                before = store.webhook_deliveries.get(_key(delivery))
                lease = None if before is None else before.leased_until
                told = {} if before is None else _told(before.delivery)
                store.webhook_deliveries[_key(delivery)] = StoredDelivery(replace(delivery, **told), lease)

    async def retry(self, tenant_id: UUID, webhook_id: UUID, delivery_id: UUID, now: datetime) -> bool:
        async with self.access.write() as store:
            for key, stored in store.webhook_deliveries.items():
                found = stored.delivery
                if (found.tenant_id, found.webhook_id, found.id) == (tenant_id, webhook_id, delivery_id):
                    again = replace(found, state="waiting", tries=0, due_at=now)
                    store.webhook_deliveries[key] = StoredDelivery(again, stored.leased_until)
                    return True
            return False

    async def places_at(self, at: datetime) -> Places:
        assert isinstance(self.scope, OneTenant)
        heads = await MemoryLog(self.access, self.scope).heads()
        lines = list(self.access.read().tables.get(TABLE, {}).values())
        return Places(_place(lines, self.scope.id, at, heads.own), _place(lines, None, at, heads.shared))

    async def claim(self, now: datetime, lease: timedelta, size: ClaimSize) -> list[WebhookClaim]:
        async with self.access.write() as store:
            claims = []
            for webhook in _chosen(store, now, size):
                most = size.deliveries if webhook.failing_since is None else 1
                due = sorted(_due(store, webhook, now), key=lambda each: (each.due_at, each.position))[:most]
                for delivery in due:
                    store.webhook_deliveries[_key(delivery)] = StoredDelivery(delivery, now + lease)
                if due:
                    claims.append(WebhookClaim(webhook, [Claimed(each, await self._entry(each)) for each in due]))
            return claims

    async def release(self, deliveries: Sequence[Delivery]) -> None:
        async with self.access.write() as store:
            for delivery in deliveries:
                stored = store.webhook_deliveries.get(_key(delivery))
                if stored is not None:
                    store.webhook_deliveries[_key(delivery)] = replace(stored, leased_until=None)

    async def finish(self, outcomes: Sequence[DeliveryOutcome], now: datetime) -> list[Failing]:
        async with self.access.write() as store:
            for outcome in outcomes:
                stored = store.webhook_deliveries.get(_key(outcome.delivery))
                if stored is not None:
                    store.webhook_deliveries[_key(outcome.delivery)] = _finished(stored, outcome)
                webhook = store.webhooks.get(outcome.delivery.webhook_id)
                if webhook is not None and outcome.attempt.was_sent:
                    store.webhooks[webhook.id] = _with_health(webhook, outcome, now)
            found = {outcome.delivery.webhook_id for outcome in outcomes} & store.webhooks.keys()
            webhooks = [store.webhooks[webhook_id] for webhook_id in found]
            return [Failing(each.tenant_id, each.id, each.failing_since) for each in webhooks if each.failing_since]

    async def backlog(self, now: datetime) -> WebhookBacklog:
        store = self.access.read()
        webhooks = store.webhooks.values()
        healthy = [each for each in webhooks if _is_live(store, each) and each.failing_since is None]
        stored = [each.delivery for each in store.webhook_deliveries.values()]
        waiting = [delivery for delivery in stored if delivery.state == "waiting"]
        of_healthy = {webhook.id for webhook in healthy}
        due = [each for each in waiting if each.webhook_id in of_healthy and each.due_at <= now - OVERDUE_AFTER]
        return WebhookBacklog(
            sum(each.is_active and each.failing_since is not None for each in webhooks),
            sum(each.disabled_at is not None for each in webhooks),
            len(due),
            len(waiting),
            sum(delivery.state == "given-up" for delivery in stored),
        )

    async def _entry(self, delivery: Delivery) -> LogEntry | None:
        changes = MemoryLog(self.access, OneTenant(delivery.tenant_id))
        place, stream = delivery.position, "shared" if delivery.is_shared else "own"
        try:
            found = await changes.after(stream, place - 1, place, 1, [delivery.entity])  # type: ignore[arg-type]  # a Stream
        except CursorExpired:
            return None
        return found.entries[0] if found.entries else None


def _place(lines: Sequence[Row], tenant_id: UUID | None, at: datetime, head: int) -> int:
    """Return the position of the last entry of a stream before ``at``."""
    found = [
        (cast(int, line["position"]), cast(datetime, line["at"])) for line in lines if line["tenant_id"] == tenant_id
    ]
    before = [position for position, then in found if then < at]
    return max(before) if before else min((position for position, _ in found), default=head + 1) - 1


def _key(delivery: Delivery) -> DeliveryKey:
    return delivery.webhook_id, delivery.is_shared, delivery.position


def _told(before: Delivery) -> dict[str, object]:
    """Fields of a delivery that a repeated one keeps."""
    return {name: getattr(before, name) for name in ("last_status", "last_error", "duration_ms")}


def _is_listed(delivery: Delivery, listing: DeliveryListing) -> bool:
    is_here = (delivery.tenant_id, delivery.webhook_id) == (listing.tenant_id, listing.webhook_id)
    is_wanted = not listing.states or delivery.state in listing.states
    return is_here and is_wanted and listing.event in (None, delivery.event)


def _chosen(store: Store, now: datetime, size: ClaimSize) -> Iterator[Webhook]:
    """Yield the webhooks of free lanes with due deliveries."""
    lanes: defaultdict[_Lane, list[Webhook]] = defaultdict(list)
    for webhook in store.webhooks.values():
        if _is_live(store, webhook):
            lanes[webhook.tenant_id, webhook.host].append(webhook)
    free = [found for lane, found in lanes.items() if not _is_leased(store, lane, now)]
    due = [found for found in free if any(any(_due(store, each, now)) for each in found)]
    failing = [found for found in due if all(each.failing_since for each in found if any(_due(store, each, now)))]
    healthy = [found for found in due if found not in failing]
    for found in [*healthy, *failing[: size.failing_lanes]][: size.lanes]:
        yield from found


def _is_live(store: Store, webhook: Webhook) -> bool:
    account, tenant = store.service_accounts.get(webhook.service_account_id), store.tenants.get(webhook.tenant_id)
    is_open = tenant is not None and tenant.is_active and webhook.tenant_id not in store.deleted_tenants
    return webhook.is_active and account is not None and account.is_active and is_open


def _is_leased(store: Store, lane: _Lane, now: datetime) -> bool:
    for key, stored in store.webhook_deliveries.items():
        webhook = store.webhooks[key[0]]
        if (webhook.tenant_id, webhook.host) == lane and stored.leased_until is not None and stored.leased_until > now:
            return True
    return False


def _due(store: Store, webhook: Webhook, now: datetime) -> Iterator[Delivery]:
    waiting = _waiting(store, webhook)
    first: dict[object, int] = {}
    for delivery in waiting:
        row = _row(delivery)
        first[row] = min(first.get(row, delivery.position), delivery.position)
    for delivery in waiting:
        if delivery.due_at <= now and (webhook.order_by == "none" or first[_row(delivery)] == delivery.position):
            yield delivery


def _waiting(store: Store, webhook: Webhook) -> list[Delivery]:
    stored = (each.delivery for key, each in store.webhook_deliveries.items() if key[0] == webhook.id)
    return [delivery for delivery in stored if delivery.state == "waiting"]


def _row(delivery: Delivery) -> object:
    return delivery.entity, delivery.row_id, delivery.is_shared


def _finished(stored: StoredDelivery, outcome: DeliveryOutcome) -> StoredDelivery:
    attempt = outcome.attempt
    delivery = replace(
        stored.delivery,
        state=outcome.state,
        tries=stored.delivery.tries + 1,
        due_at=outcome.due_at,
        last_status=attempt.status,
        last_error=attempt.error,
        duration_ms=attempt.duration_ms,
    )
    return StoredDelivery(delivery)


def _with_health(webhook: Webhook, outcome: DeliveryOutcome, now: datetime) -> Webhook:
    if outcome.attempt.is_success:
        return replace(webhook, last_status=outcome.attempt.status, last_success_at=now, failing_since=None)
    return replace(webhook, last_status=outcome.attempt.status, failing_since=webhook.failing_since or now)
