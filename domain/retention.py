"""Data with an end: the rules that remove it by age, and records that the operator may set an end for."""

from datetime import datetime, timedelta
from enum import Enum

from msgspec import Struct

DAY = timedelta(days=1)
"""Margin for clocks that differ between machines."""

KEPT_FOR = timedelta(hours=24)
"""Time for which a response is stored under an Idempotency-Key."""


class DatedRecords(Enum):
    """Records that are only added to, in the order of time: past an age that the operator may set, they are deleted."""

    EVENTS = "events of the audit trail"
    HISTORIES = "lines of histories"


class RetentionRule(Struct, frozen=True, kw_only=True):
    """Data that is removed at the age ``kept``; the longest lifetime of a session is added if it ``outlasts_sessions``.

    ``name`` is for logs and ``tenantry clean``, ``when`` for docs/reference/data.md: ``a day after their end``.
    """

    name: str
    when: str
    kept: timedelta
    outlasts_sessions: bool = False

    def before(self, now: datetime, session: timedelta) -> datetime:
        return now - self.kept - (session if self.outlasts_sessions else timedelta())
