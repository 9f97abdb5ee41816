"""Housekeeping: removes data past its retention, so that no table grows for ever, and tends the tables."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from application.ports.database import Database
from application.ports.retention import RetentionTransaction
from application.ports.runtime import Clock
from application.ports.upkeep import Upkeep
from domain.identity.tokens import Lifetimes
from domain.parts.composition import RETENTION
from domain.retention import DatedRecords, RetentionRule
from domain.scope import EveryTenant

# Few enough that no other statement waits long for their locks.
AT_ONCE = 500
"""Most rows of one statement."""


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
        self, now: datetime, among: Collection[RetentionRule] = RETENTION
    ) -> Mapping[RetentionRule, int] | None:
        """Removes some rows of each rule ``among`` these, and returns how many; None while another process is at it.

        ``now`` is the same for all sweeps of a cleaning, which would not end where rows fall due all the time.
        """
        swept: dict[RetentionRule, int] = {}
        for rule in among:
            # One transaction per rule, so that locks are held for one statement only.
            async with self.database.transaction(EveryTenant()) as tx:
                if not await tx.retention.claim():
                    return None
                removed = await tx.retention.remove(rule, rule.before(now, self.lifetimes.session), AT_ONCE)
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
