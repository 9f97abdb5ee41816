"""Storage of outcomes: those of concurrent requests in one statement."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from application.entities.webhooks.disabling import Disabling
from application.ports.database import Database
from application.ports.entities.webhooks import Failing, WebhookTransaction
from application.ports.runtime import Clock
from application.retry import retry_on_conflict
from domain.entities.webhooks.deliveries import GONE, DeliveryOutcome
from domain.entities.webhooks.webhooks import FAILING_DISABLES_AFTER
from domain.scope import EveryTenant

CountOutcome = Callable[[str], None]


@dataclass(frozen=True)
class OutcomeWriter:
    """Writer of this process. ``count`` receives each outcome: ``delivered``, ``failed`` or ``given-up``."""

    database: Database[WebhookTransaction]
    disabling: Disabling
    clock: Clock
    count: CountOutcome
    _waiting: list[DeliveryOutcome] = field(default_factory=list)
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def write(self, outcome: DeliveryOutcome) -> None:
        """Store the outcome, and disable a webhook that is gone or has failed for long."""
        self._waiting.append(outcome)
        async with self._writing:
            # The previous writer may have stored this outcome together with others.
            batch = self._waiting.copy()
            self._waiting.clear()
            if batch:
                await self._store(batch)

    async def _store(self, batch: list[DeliveryOutcome]) -> None:
        now = self.clock.now()
        failing = await self._finish(batch)
        for outcome in batch:
            self.count("failed" if outcome.state == "waiting" else outcome.state)
        long_ago = now - FAILING_DISABLES_AFTER
        gone = {(each.delivery.tenant_id, each.delivery.webhook_id) for each in batch if each.attempt.status == GONE}
        gone |= {(each.tenant_id, each.webhook_id) for each in failing if each.since <= long_ago}
        for tenant_id, webhook_id in gone:
            await self.disabling.disable(tenant_id, webhook_id)

    @retry_on_conflict
    async def _finish(self, batch: list[DeliveryOutcome]) -> list[Failing]:
        async with self.database.transaction(EveryTenant()) as tx:
            return await tx.deliveries.finish(batch, self.clock.now())
