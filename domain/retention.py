"""Expiring data: the rules that remove it, and records with an optional retention."""

from datetime import datetime, timedelta
from enum import Enum

from msgspec import Struct

DAY = timedelta(days=1)
"""Additional time before a deletion, because the clocks of machines may differ."""

KEPT_FOR = timedelta(hours=24)
"""Storage time of a response under an Idempotency-Key."""


class DatedRecords(Enum):
    """Append-only records in the order of time, deleted past an age that the operator may set."""

    EVENTS = "events of the audit trail"
    HISTORIES = "lines of histories"
    CHANGES = "changes of the feed"


class RetentionRule(Struct, frozen=True, kw_only=True):
    """Data deleted at the age ``kept``; ``outlasts_sessions`` adds the maximum lifetime of a session.

    ``name`` is used in logs and by ``tenantry clean``; ``when`` is a text for docs/reference/data.md, such as ``a day
    after their end``.
    """

    name: str
    when: str
    kept: timedelta
    outlasts_sessions: bool = False

    def before(self, now: datetime, session: timedelta) -> datetime:
        return now - self.kept - (session if self.outlasts_sessions else timedelta())
