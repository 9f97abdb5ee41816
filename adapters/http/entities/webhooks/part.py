"""Use cases of webhooks that handlers call."""

from dataclasses import dataclass

from application.entities.webhooks.administration import WebhookAdministration
from application.entities.webhooks.deliveries import DeliveryAdministration


@dataclass(frozen=True, kw_only=True)
class WebhookUseCases:
    webhooks: WebhookAdministration
    webhook_deliveries: DeliveryAdministration
