"""The lock after failed logins."""

from datetime import timedelta

from msgspec import Struct

FAILURES_FORGOTTEN = timedelta(days=7)
"""Pause that resets the counts of failed logins and consecutive locks; a lock always lasts its full duration."""

LONGEST_LOCK = timedelta(days=1)  # of repeated locks; a longer setting is the duration of every lock

DOUBLED_AT_MOST = 20  # beyond the maximum duration: one minute becomes two years

NETWORK_FORGOTTEN = timedelta(days=90)
"""Time for which the service remembers the network of an address's last successful login."""


class Lockout(Struct, frozen=True):
    """Lock for ``duration`` of a network with ``attempts`` consecutive failures.

    Each further consecutive lock doubles the duration.
    """

    attempts: int
    duration: timedelta

    @property
    def longest(self) -> timedelta:
        return max(self.duration, LONGEST_LOCK)

    def lasts(self, before: int) -> timedelta:
        """Return the duration of a lock after ``before`` consecutive locks: 15 minutes, 30, 60, … up to a day."""
        doubled: int = 2 ** min(before, DOUBLED_AT_MOST)
        return min(self.duration * doubled, self.longest)

    @property
    def attempts_over_all(self) -> int:
        """Failures from all networks together that lock every network without an earlier successful login."""
        return 10 * self.attempts
