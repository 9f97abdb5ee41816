"""State of webhooks."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from domain.entities.webhooks.deliveries import Delivery
from domain.entities.webhooks.webhooks import Webhook

DeliveryKey = tuple[UUID, bool, int]
"""Webhook, whether the stream is the shared one, and position."""


class StoredDelivery(Struct, frozen=True):
    delivery: Delivery
    leased_until: datetime | None = None


@dataclass(kw_only=True)
class WebhookState:
    webhooks: dict[UUID, Webhook] = field(default_factory=dict)
    webhook_deliveries: dict[DeliveryKey, StoredDelivery] = field(default_factory=dict)
