"""Disabling of webhooks by the service, with a mail to the tenant's owners."""

from dataclasses import dataclass
from uuid import UUID

from msgspec.structs import replace

from application.ports.database import Database
from application.ports.entities.webhooks import WebhookTransaction
from application.ports.identity.users import notice
from application.ports.runtime import Clock, Ids
from application.retry import retry_on_conflict
from domain.scope import Client, EveryTenant, event

NO_CLIENT = Client(address="", network="")


@dataclass(frozen=True)
class Disabling:
    database: Database[WebhookTransaction]
    clock: Clock
    ids: Ids

    @retry_on_conflict
    async def disable(self, tenant_id: UUID, webhook_id: UUID) -> None:
        """Disable an active webhook. Its waiting deliveries wait until somebody activates it again."""
        now = self.clock.now()
        async with self.database.transaction(EveryTenant()) as tx:
            webhook = await tx.webhooks.lock(tenant_id, webhook_id, waits=True)
            if webhook is None or not webhook.is_active:
                return
            await tx.webhooks.save(replace(webhook, is_active=False, disabled_at=now))
            await tx.audit.add(tenant_id, event("webhook.disabled", None, webhook_id, NO_CLIENT, now))
            for user_id in await tx.memberships.lock_owners(tenant_id):
                state = await tx.users.state(user_id)
                if state is not None:
                    # Security: name only the host, because the rest of a URL may be a secret.
                    mail = notice(self.ids.new(), "webhook-disabled", state.user, now, about=webhook.host)
                    await tx.outbox.add(mail)
