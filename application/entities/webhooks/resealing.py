"""Seals the secrets of webhooks with the current secret key of the service."""

from dataclasses import dataclass
from uuid import UUID

from msgspec.structs import replace

from application.ports.database import Database
from application.ports.entities.webhooks import WebhookSecrets, WebhookTransaction
from domain.entities.webhooks.webhooks import Webhook
from domain.scope import EveryTenant

AT_ONCE = 500


@dataclass(frozen=True)
class WebhookResealing:
    database: Database[WebhookTransaction]
    secrets: WebhookSecrets

    async def reseal(self) -> int:
        """Seal the secrets of all tenants' webhooks; return the number of webhooks. You may repeat the call.

        A secret that no secret key opens is lost, and remains unchanged.
        """
        done, last = 0, None
        while found := await self._after(last):
            for webhook in found:
                done += await self._resealed(webhook)
            last = found[-1].id
        return done

    async def _after(self, last: UUID | None) -> list[Webhook]:
        async with self.database.read_only(EveryTenant()) as read:
            return await read.webhooks_of_all_tenants.after(last, AT_ONCE)

    async def _resealed(self, read: Webhook) -> bool:
        async with self.database.transaction(EveryTenant()) as tx:
            # A rotation of the webhook's secret may have come first.
            webhook = await tx.webhooks.lock(read.tenant_id, read.id, waits=True)
            if webhook is None:
                return False
            sealed, before = self._again(webhook, webhook.sealed), self._again(webhook, webhook.sealed_before)
            await tx.webhooks.save(replace(webhook, sealed=sealed or webhook.sealed, sealed_before=before))
            return sealed is not None

    def _again(self, webhook: Webhook, sealed: str | None) -> str | None:
        opened = None if sealed is None else self.secrets.open(webhook.id, sealed)
        return None if opened is None else self.secrets.seal(webhook.id, opened)
