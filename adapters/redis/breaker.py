"""Circuit breaker: pauses between attempts to reach a failed server."""

import time
from collections.abc import Callable

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 2.0


class Breaker:
    """A circuit breaker: closed during normal operation; each failure doubles the pause before the next attempt, up to
    a bound.

    After a server answers an attempt, calls go through on trial. The outage ends with the first successful call.
    """

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._pause = 0.0
        self._until = 0.0
        self._is_on_trial = False

    @property
    def is_outage(self) -> bool:
        return self._pause > 0

    @property
    def is_open(self) -> bool:
        return self.is_outage and not self._is_on_trial

    @property
    def may_try(self) -> bool:
        return self._seconds() >= self._until

    def failed(self) -> None:
        # Double the pause: a restarted server is found soon, and an absent one costs one attempt every two seconds.
        self._pause = min(max(self._pause * 2, FIRST_PAUSE), LONGEST_PAUSE)
        self._until = self._seconds() + self._pause
        self._is_on_trial = False

    def answered(self) -> None:
        self._is_on_trial = True

    def worked(self) -> None:
        self._pause = self._until = 0.0
        self._is_on_trial = False
