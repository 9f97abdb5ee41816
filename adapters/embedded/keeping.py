"""Restarts of embedded servers after a crash."""

import logging
import threading
from collections.abc import Callable

from adapters.embedded.errors import EmbeddedUnavailable
from adapters.embedded.processes import Server, last_words

log = logging.getLogger(__name__)

LOOKED_EVERY = 0.25
PAUSE_AFTER_FAILURE = 1.0
ENDS_WITHIN = 25.0


class KeptServer:
    """Server that is restarted until `stop`; `start` raises EmbeddedUnavailable or OSError.

    A full disk stops PostgreSQL, and it cannot start before there is space. The service retries every second.
    """

    def __init__(self, start: Callable[[], Server]) -> None:
        """Raises the errors of ``start``."""
        self._start = start
        self._server = start()
        self._is_told = False
        self._stopping = threading.Event()
        # The servers end with the thread that started them, so this thread runs as long as they do.
        self._thread = threading.Thread(target=self._keep, name=f"keeper of {self._server.name}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(ENDS_WITHIN)
        self._server.stop()

    def _keep(self) -> None:
        pause = LOOKED_EVERY
        while not self._stopping.wait(pause):
            if self._server.process.poll() is not None:
                pause = LOOKED_EVERY if self._started_again() else PAUSE_AFTER_FAILURE
        # Stop the server first: the end of this thread would signal the server to stop.
        self._server.stop()

    def _started_again(self) -> bool:
        if not self._is_told:
            log.warning(
                "The embedded %s has ended (%s) and is started again. %s",
                self._server.name,
                self._server.process.returncode,
                last_words(self._server.log),
            )
            self._is_told = True
        try:
            self._server = self._start()
        except (EmbeddedUnavailable, OSError) as error:
            log.debug("The embedded %s cannot start yet: %s", self._server.name, error)
            return False
        log.warning("The embedded %s runs again.", self._server.name)
        self._is_told = False
        return True
