"""Housekeeping: removes data past its retention, so that no table grows for ever, and tends the tables."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from application.ports.database import Database
from application.ports.entities.idempotency import KEPT_FOR
from application.ports.retention import RetentionTransaction
from application.ports.runtime import Clock
from application.ports.upkeep import Upkeep
from domain.identity.tokens import Lifetimes
from domain.limits import FAILURES_FORGOTTEN, NETWORK_FORGOTTEN
from domain.retention import (
    ENDED_INVITATION,
    ENDED_KEYS,
    FORMER_ADDRESS,
    GIVEN_UP_MAIL,
    JOIN_REQUEST,
    LONGEST_TOKEN,
    DatedRecords,
    RetentionRule,
)
from domain.scope import EveryTenant

DAY = timedelta(days=1)
"""Margin for clocks that differ between machines."""

# Few enough that no other statement waits long for their locks.
AT_ONCE = 500
"""Most rows of one statement."""

EVERY_RULE = tuple(RetentionRule)


@dataclass(frozen=True)
class Housekeeping:
    database: Database[RetentionTransaction]
    upkeep: Upkeep
    clock: Clock
    lifetimes: Lifetimes
    kept: Mapping[DatedRecords, timedelta] = field(default_factory=dict)
    """How long records are kept; those that are not named, for ever."""

    async def now(self) -> datetime:
        """Time of a cleaning: the earlier of this machine's clock and the database's.

        The clock of one machine among many may be years ahead, and what it deletes is gone for all of them.
        """
        return await self.upkeep.earlier(self.clock.now())

    async def sweep(
        self, now: datetime, among: Collection[RetentionRule] = EVERY_RULE
    ) -> Mapping[RetentionRule, int] | None:
        """Removes some rows of each rule ``among`` these, and returns how many; None while another process is at it.

        ``now`` is the same for all sweeps of a cleaning, which would not end where rows fall due all the time.
        """
        swept: dict[RetentionRule, int] = {}
        for rule, before in forgotten_before(now, self.lifetimes).items():
            if rule not in among:
                continue
            # One transaction per rule, so that locks are held for one statement only.
            async with self.database.transaction(EveryTenant()) as tx:
                if not await tx.retention.claim():
                    return None
                removed = await tx.retention.remove(rule, before, AT_ONCE)
            if removed:
                swept[rule] = removed
        return swept

    async def forget(self, what: DatedRecords, now: datetime) -> int | None:
        """Deletes some records past their retention and returns how many; None where the login may not delete any."""
        if what not in self.kept:
            return 0
        return await self.upkeep.forget(what, now - self.kept[what], AT_ONCE)

    async def tend(self) -> Sequence[str]:
        """Clears dead rows and renews statistics where the database is late, and returns the tables' names."""
        return await self.upkeep.tend()


def forgotten_before(now: datetime, lifetimes: Lifetimes) -> Mapping[RetentionRule, datetime]:
    """The end of the retention of each rule: older data can be asked for by no rule of the service."""
    return {
        RetentionRule.ENDED_SESSIONS: now - DAY,
        RetentionRule.OLD_SESSIONS: now - lifetimes.session - DAY,
        RetentionRule.FAILURES: now - FAILURES_FORGOTTEN - DAY,
        RetentionRule.NETWORKS: now - NETWORK_FORGOTTEN,
        RetentionRule.VERSIONS: now - LONGEST_TOKEN - DAY,
        RetentionRule.USED_NONCES: now - DAY,
        RetentionRule.LINKS: now - DAY,
        RetentionRule.INVITATIONS: now - ENDED_INVITATION,
        RetentionRule.JOIN_REQUESTS: now - JOIN_REQUEST,
        RetentionRule.FORMER_ADDRESSES: now - FORMER_ADDRESS,
        RetentionRule.EMAIL_CHANGES: now - DAY,
        RetentionRule.ANSWERS: now - KEPT_FOR - DAY,
        RetentionRule.API_KEYS: now - ENDED_KEYS,
        RetentionRule.MAILS: now - GIVEN_UP_MAIL,
    }
