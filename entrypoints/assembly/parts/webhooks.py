"""Use cases of webhooks on their adapters, as the settings say."""

from dataclasses import dataclass
from datetime import timedelta

from adapters.http.entities.webhooks.part import WebhookUseCases
from adapters.prometheus.outcomes import WebhookCounts
from application.entities.webhooks.administration import WebhookAdministration
from application.entities.webhooks.deliveries import DeliveryAdministration
from application.entities.webhooks.delivery import Deliverer
from application.entities.webhooks.disabling import Disabling
from application.entities.webhooks.fan_out import FanOut
from application.entities.webhooks.outcomes import OutcomeWriter
from application.entities.webhooks.resealing import WebhookResealing
from entrypoints.assembly.adapters import Adapters
from entrypoints.settings.settings import Settings


@dataclass(frozen=True, kw_only=True)
class WebhookServices(WebhookUseCases):
    fan_out: FanOut
    deliverer: Deliverer
    webhook_resealing: WebhookResealing
    webhook_counts: WebhookCounts


def assemble_webhooks(adapters: Adapters, settings: Settings) -> WebhookServices:
    database, registry, clock, ids = adapters.database, adapters.registry, adapters.clock, adapters.ids
    webhooks, disabling, counts = adapters.webhooks, Disabling(database, clock, ids), WebhookCounts()
    return WebhookServices(
        webhooks=WebhookAdministration(
            database=database,
            registry=registry,
            outgoing=webhooks.outgoing,
            signer=webhooks.signer,
            secrets=webhooks.secrets,
            clock=clock,
            ids=ids,
            recent=timedelta(minutes=settings.reauth_minutes),
        ),
        webhook_deliveries=DeliveryAdministration(
            database=database,
            outgoing=webhooks.outgoing,
            signer=webhooks.signer,
            secrets=webhooks.secrets,
            clock=clock,
            ids=ids,
        ),
        fan_out=FanOut(database, registry, disabling, clock),
        deliverer=Deliverer(
            database=database,
            registry=registry,
            outgoing=webhooks.outgoing,
            signer=webhooks.signer,
            secrets=webhooks.secrets,
            outcomes=OutcomeWriter(database, disabling, clock, counts.count),
            clock=clock,
        ),
        webhook_resealing=WebhookResealing(database, webhooks.secrets),
        webhook_counts=counts,
    )
