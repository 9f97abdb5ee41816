"""Ports of webhooks."""

from adapters.memory.entities.webhooks.deliveries import MemoryDeliveries
from adapters.memory.entities.webhooks.webhooks import MemoryWebhooks
from adapters.memory.store import MemoryContext, Retained
from domain.parts.webhooks import DELIVERIES


class MemoryWebhookPorts(MemoryContext):
    @property
    def webhooks(self) -> MemoryWebhooks:
        return MemoryWebhooks(self.access)

    @property
    def webhooks_of_all_tenants(self) -> MemoryWebhooks:
        return MemoryWebhooks(self.access)

    @property
    def deliveries(self) -> MemoryDeliveries:
        return MemoryDeliveries(self.access, self.scope)


RETAINED: Retained = {
    DELIVERIES: lambda store: (
        store.webhook_deliveries,
        {key: stored.delivery.created_at for key, stored in store.webhook_deliveries.items()},
    ),
}
