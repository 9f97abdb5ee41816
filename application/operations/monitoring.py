"""Figures for operators' metrics: the load of a process, and the state shared by all processes."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from application.ports.entities.webhooks import WebhookBacklog
from application.ports.load import FileLoad, Loads
from application.ports.mail_delivery import MailBacklog
from application.ports.metrics import ProcessLoad, SharedState
from application.ports.runtime import Clock
from application.ports.shared_memory import Admissions
from application.ports.whole_database import WholeDatabase
from application.throttle import ThrottleCounts
from domain.errors import ServiceUnavailable
from domain.scope import EveryTenant

PATIENCE = timedelta(seconds=2)
"""Maximum wait for the database before it counts as unavailable, because a metrics collector does not wait long."""

LATE_AFTER = timedelta(seconds=10)
"""Lag of the changes from which the service is degraded."""


class _Backlogs(NamedTuple):
    mails: MailBacklog
    oldest_change: datetime | None
    webhooks: WebhookBacklog


@dataclass(frozen=True)
class Monitoring:
    """Reader of values already stored by the processes, without slowing down requests.

    ``has_feeds``: the changes of some entity are logged.
    """

    database: WholeDatabase
    admissions: Admissions
    clock: Clock
    loads: Loads
    counts: ThrottleCounts
    streams: Callable[[], int]
    """Returns the number of open streams of changes."""
    patience: timedelta = PATIENCE
    has_feeds: bool = False
    files: Callable[[], FileLoad] = FileLoad

    def load(self) -> ProcessLoad:
        return ProcessLoad(
            pool=self.loads.pool(),
            hashes=self.loads.hashes(),
            replicas=self.loads.replicas(),
            limits_refused=self.counts.refused,
            revocation_fallbacks=self.counts.fallbacks,
            streams=self.streams(),
            files=self.files(),
        )

    async def shared_state(self) -> SharedState:
        found, redis = await asyncio.gather(self._backlogs(), self.admissions.is_shared())
        return SharedState(
            database=found is not None,
            redis=redis,
            migrations_pending=None if found is None else not await self.database.is_ready(),
            mails=None if found is None else found.mails,
            oldest_mail=None if found is None else self._age(found.mails.oldest),
            changes_lag=None if found is None else self._age(found.oldest_change),
            webhooks=None if found is None else found.webhooks,
        )

    async def is_feed_late(self) -> bool:
        """Return whether a change has waited for its position for longer than LATE_AFTER."""
        if not self.has_feeds:
            return False
        async with self.database.read_only(EveryTenant()) as read:
            return self._age(await read.change_queue.oldest()) > LATE_AFTER

    async def _backlogs(self) -> _Backlogs | None:
        try:
            async with asyncio.timeout(self.patience.total_seconds()), self.database.read_only(EveryTenant()) as read:
                mails = await read.outbox_state.backlog()
                if not self.has_feeds:
                    return _Backlogs(mails, None, WebhookBacklog())
                webhooks = await read.deliveries.backlog(self.clock.now())
                return _Backlogs(mails, await read.change_queue.oldest(), webhooks)
        except (ServiceUnavailable, TimeoutError):
            return None

    def _age(self, oldest: datetime | None) -> timedelta:
        # This machine's clock may be behind the writer's.
        return max(timedelta(), self.clock.now() - oldest) if oldest else timedelta()
