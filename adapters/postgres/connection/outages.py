"""Log lines about outages of PostgreSQL: one when an outage begins and one when it ends."""

import logging

from asyncpg import LockNotAvailableError, QueryCanceledError, TooManyConnectionsError

from adapters.postgres.connection.failures import Closable, is_away
from adapters.postgres.connection.waiting import PoolBusy

log = logging.getLogger(__name__)

_NO_OUTAGE = (PoolBusy, QueryCanceledError, LockNotAvailableError, TooManyConnectionsError)
"""Limits of time and of connections: the server answers meanwhile."""


class Outages:
    """Log of the outages of PostgreSQL: one line when an outage begins, and one when it ends.

    ``phase`` is even while PostgreSQL answers and odd during an outage; each use of a connection notes it first.

    The end of a use says nothing about any other phase than that in which the use began: connections that an outage cut
    may be noticed long after it, and a statement may end well that was sent before it.
    """

    __slots__ = ("phase",)

    def __init__(self) -> None:
        self.phase = 0

    def failed(self, phase: int, error: BaseException, connection: Closable | None) -> None:
        if phase != self.phase or phase % 2 or isinstance(error, _NO_OUTAGE) or not is_away(error, connection):
            return
        self.phase += 1
        log.warning("PostgreSQL is away (%s): requests are answered 503 until it is back.", type(error).__name__)

    def worked(self, phase: int) -> None:
        if phase == self.phase and phase % 2:
            self.phase += 1
            log.warning("PostgreSQL answers again.")


class QuietOutages(Outages):
    """Outages of a replica, which is sampled, and told of, by itself: its requests are answered by the primary."""

    def failed(self, phase: int, error: BaseException, connection: Closable | None) -> None:
        pass

    def worked(self, phase: int) -> None:
        pass
