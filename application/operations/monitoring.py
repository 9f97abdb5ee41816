"""Figures for operators' metrics: the load of a process, and the state shared by all processes."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from application.ports.load import Loads
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


@dataclass(frozen=True)
class Monitoring:
    """Reader of values already stored by the processes, without slowing down requests."""

    database: WholeDatabase
    admissions: Admissions
    clock: Clock
    loads: Loads
    counts: ThrottleCounts
    patience: timedelta = PATIENCE

    def load(self) -> ProcessLoad:
        return ProcessLoad(
            pool=self.loads.pool(),
            hashes=self.loads.hashes(),
            replicas=self.loads.replicas(),
            limits_refused=self.counts.refused,
            revocation_fallbacks=self.counts.fallbacks,
        )

    async def shared_state(self) -> SharedState:
        mails, redis = await asyncio.gather(self._mails(), self.admissions.is_shared())
        return SharedState(
            database=mails is not None,
            redis=redis,
            migrations_pending=None if mails is None else not await self.database.is_ready(),
            mails=mails,
            oldest_mail=self._age(mails),
        )

    async def _mails(self) -> MailBacklog | None:
        try:
            async with asyncio.timeout(self.patience.total_seconds()), self.database.read_only(EveryTenant()) as read:
                return await read.outbox_state.backlog()
        except (ServiceUnavailable, TimeoutError):
            return None

    def _age(self, mails: MailBacklog | None) -> timedelta | None:
        if mails is None:
            return None
        # This machine's clock may be behind the writer's.
        return max(timedelta(), self.clock.now() - mails.oldest) if mails.oldest else timedelta()
