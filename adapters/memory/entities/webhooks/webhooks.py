"""Webhooks of tenants."""

from dataclasses import dataclass
from uuid import UUID

from msgspec.structs import replace

from adapters.memory.entities.changes.log import MemoryLog
from adapters.memory.store import Access, Store
from application.ports.entities.webhooks import ListedWebhook
from domain.entities.webhooks.webhooks import Webhook
from domain.scope import OneTenant


@dataclass(frozen=True)
class MemoryWebhooks:
    access: Access

    async def all(self, tenant_id: UUID) -> list[ListedWebhook]:
        store = self.access.read()
        found = [webhook for webhook in store.webhooks.values() if webhook.tenant_id == tenant_id]
        return [_listed(store, each) for each in sorted(found, key=lambda each: (each.created_at, each.id))]

    async def get(self, tenant_id: UUID, webhook_id: UUID) -> ListedWebhook | None:
        store = self.access.read()
        webhook = _of(store, tenant_id, webhook_id)
        return None if webhook is None else _listed(store, webhook)

    async def count(self, tenant_id: UUID) -> int:
        return sum(webhook.tenant_id == tenant_id for webhook in self.access.lock().webhooks.values())

    async def lock(self, tenant_id: UUID, webhook_id: UUID, *, waits: bool) -> Webhook | None:  # noqa: ARG002  # transactions run one after another
        return _of(self.access.lock(), tenant_id, webhook_id)

    async def add(self, webhook: Webhook) -> None:
        async with self.access.write() as store:
            store.webhooks[webhook.id] = webhook

    async def save(self, webhook: Webhook) -> None:
        async with self.access.write() as store:
            stored = _of(store, webhook.tenant_id, webhook.id)
            if stored is None:
                return
            stays = webhook.is_active and stored.is_active
            store.webhooks[webhook.id] = replace(
                webhook,
                last_success_at=stored.last_success_at,
                last_status=stored.last_status,
                failing_since=stored.failing_since if stays else webhook.failing_since,
            )

    async def remove(self, tenant_id: UUID, webhook_id: UUID) -> bool:
        async with self.access.write() as store:
            if _of(store, tenant_id, webhook_id) is None:
                return False
            del store.webhooks[webhook_id]
            for key in [key for key in store.webhook_deliveries if key[0] == webhook_id]:
                del store.webhook_deliveries[key]
            return True

    async def after(self, last: UUID | None, most: int) -> list[Webhook]:
        found = sorted(self.access.read().webhooks.values(), key=lambda webhook: webhook.id)
        return [webhook for webhook in found if last is None or webhook.id > last][:most]

    async def behind(self, most: int) -> list[tuple[UUID, UUID]]:
        found = []
        for webhook in self.access.read().webhooks.values():
            heads = await MemoryLog(self.access, OneTenant(webhook.tenant_id)).heads()
            is_behind = heads.own > webhook.position or heads.shared > webhook.shared_position
            if webhook.is_active and (is_behind or webhook.replay is not None):
                found.append((webhook.tenant_id, webhook.id))
        return found[:most]


def _of(store: Store, tenant_id: UUID, webhook_id: UUID) -> Webhook | None:
    webhook = store.webhooks.get(webhook_id)
    return None if webhook is None or webhook.tenant_id != tenant_id else webhook


def _listed(store: Store, webhook: Webhook) -> ListedWebhook:
    deliveries = (each.delivery for key, each in store.webhook_deliveries.items() if key[0] == webhook.id)
    return ListedWebhook(webhook, sum(delivery.state == "waiting" for delivery in deliveries))
