"""Log entries about outages of PostgreSQL: one at the beginning and one at the end."""

import logging

from asyncpg import LockNotAvailableError, QueryCanceledError, TooManyConnectionsError

from adapters.postgres.connection.failures import Closable, is_away
from adapters.postgres.connection.waiting import PoolBusy

log = logging.getLogger(__name__)

_NO_OUTAGE = (PoolBusy, QueryCanceledError, LockNotAvailableError, TooManyConnectionsError)
"""Time and connection limits, which are not outages: the server still answers."""


class Outages:
    """Log of PostgreSQL's outages: one entry at the beginning and one at the end.

    ``phase`` is even while PostgreSQL answers and odd during an outage. Each use of a connection first reads the phase,
    and its result counts only in that phase: the service may notice a broken connection long after the outage, and a
    statement sent before an outage may still succeed.
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
    """Log without entries for a replica: the primary answers its requests, and sampling reports the outages."""

    def failed(self, phase: int, error: BaseException, connection: Closable | None) -> None:
        pass

    def worked(self, phase: int) -> None:
        pass
