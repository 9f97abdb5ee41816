"""Housekeeping: what no rule can ask for any more is taken away, so that no table grows for ever."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from application.ports.clock import Clock
from application.ports.database import Database
from application.ports.entities.idempotency import KEPT_FOR
from application.ports.retention import RetentionTransaction
from domain.identity.sessions import Lifetimes
from domain.identity.users import FAILURES_FORGOTTEN, NETWORK_FORGOTTEN
from domain.retention import GIVEN_UP_MAIL, LONGEST_TOKEN, RetentionRule
from domain.scope import EveryTenant

DAY = timedelta(days=1)
"""To spare, wherever clocks of several machines meet."""

AT_ONCE = 500
"""Rows of one statement: it is over before anybody waits for it."""


@dataclass(frozen=True)
class Housekeeping:
    database: Database[RetentionTransaction]
    clock: Clock
    lifetimes: Lifetimes

    async def sweep(self) -> Mapping[RetentionRule, int] | None:
        """Some of each kind, and how many there were; None while another process is at it."""
        swept: dict[RetentionRule, int] = {}
        for what, before in forgotten_before(self.clock.now(), self.lifetimes).items():
            async with self.database.transaction(EveryTenant()) as tx:
                if not await tx.retention.claim():
                    return None
                gone = await tx.retention.remove(what, before, AT_ONCE)
            if gone:
                swept[what] = gone
        return swept


def forgotten_before(now: datetime, lifetimes: Lifetimes) -> Mapping[RetentionRule, datetime]:
    """What is older than this can be asked for by no rule any more."""
    return {
        RetentionRule.ENDED_SESSIONS: now - DAY,
        RetentionRule.OLD_SESSIONS: now - lifetimes.session - DAY,
        RetentionRule.FAILURES: now - FAILURES_FORGOTTEN - DAY,
        RetentionRule.NETWORKS: now - NETWORK_FORGOTTEN,
        RetentionRule.COUNTS: now - LONGEST_TOKEN - DAY,
        RetentionRule.SPENT_IDS: now - DAY,
        RetentionRule.LINKS: now - DAY,
        RetentionRule.ANSWERS: now - KEPT_FOR - DAY,
        RetentionRule.MAILS: now - GIVEN_UP_MAIL,
    }
