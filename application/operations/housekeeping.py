"""Housekeeping: removes expired data and maintains the tables."""

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

# Small enough to avoid long locks.
AT_ONCE = 500
"""Maximum rows per statement."""


@dataclass(frozen=True)
class Housekeeping:
    database: Database[RetentionTransaction]
    upkeep: Upkeep
    clock: Clock
    lifetimes: Lifetimes
    kept: Mapping[DatedRecords, timedelta] = field(default_factory=dict)
    """Retention times of records; records without one are permanent."""

    async def now(self) -> datetime:
        """Return the time for a housekeeping run: the earlier of this machine's clock and the database's.

        The clock of a machine may be years ahead, and its deletions would affect all tenants.
        """
        return await self.upkeep.earlier(self.clock.now())

    async def sweep(
        self, now: datetime, among: Collection[RetentionRule] = RETENTION
    ) -> Mapping[RetentionRule, int] | None:
        """Remove some rows of each rule in ``among``; return the number of rows by rule, or None while another process
        removes rows.

        ``now`` is the same for all calls of a housekeeping run, so that the run ends.
        """
        swept: dict[RetentionRule, int] = {}
        for rule in among:
            # One transaction per rule, so that locks last for one statement.
            async with self.database.transaction(EveryTenant()) as tx:
                if not await tx.retention.claim():
                    return None
                removed = await tx.retention.remove(rule, rule.before(now, self.lifetimes.session), AT_ONCE)
            if removed:
                swept[rule] = removed
        return swept

    async def forget(self, what: DatedRecords, now: datetime) -> int | None:
        """Delete some records past their retention; return their number, or None if the database role may not."""
        if what not in self.kept:
            return 0
        return await self.upkeep.forget(what, now - self.kept[what], AT_ONCE)

    async def tend(self) -> Sequence[str]:
        """Vacuum tables and renew statistics if autovacuum is late; return the tables' names."""
        return await self.upkeep.tend()
