"""Draining: the time from SIGTERM to the end of a service. A load balancer stops sending requests in it."""

import asyncio
import signal
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from application.tasks import beside

if TYPE_CHECKING:  # the parent process of the workers does not need this import
    from litestar import Litestar
    from litestar.types import Message, Scope

LOOKED_EVERY = 0.1
"""Seconds until a worker notices the draining."""


class Drain:
    """Delays SIGTERM.

    During the delay the workers answer, report that they are not ready, and close each connection after its answer.

    A second SIGTERM, or Ctrl-C, ends the service at once.
    """

    def __init__(self, seconds: float, flag: Path) -> None:
        self.flag = flag
        self._seconds = seconds
        self._timer: threading.Timer | None = None
        self._end: Callable[..., Any] | None = None

    def install(self) -> None:
        """Install the handler at granian's start, after granian has set its own."""
        self._end = cast(Callable[..., Any], signal.getsignal(signal.SIGTERM))
        signal.signal(signal.SIGTERM, self._begin)

    def _begin(self, *of_signal: Any) -> None:
        assert self._end is not None
        if self._timer is not None:
            self._end(*of_signal)
            return
        self.flag.touch()
        # Ask for the handler only then: a restart of the server installs another one.
        self._timer = threading.Timer(self._seconds, lambda: self._end and self._end(*of_signal))
        self._timer.daemon = True
        self._timer.start()


@contextmanager
def drain_of(seconds: int) -> Iterator[Drain | None]:
    """Yield the drain shared by the block's processes, None for 0 seconds."""
    if not seconds:
        yield None
        return
    # A file, because workers may be forked, spawned or replaced.
    with tempfile.TemporaryDirectory(prefix="tenantry-drain-", ignore_cleanup_errors=True) as folder:
        yield Drain(seconds, Path(folder) / "begun")


@asynccontextmanager
async def drained(app: "Litestar", flag: Path | None) -> AsyncIterator[None]:
    """Watch the flag in the worker."""
    if flag is None:
        yield
        return
    async with beside(_watch(app, flag)):
        yield


async def _watch(app: "Litestar", flag: Path) -> None:
    while not flag.exists():  # noqa: ASYNC110, ASYNC240  # nobody tells; asking for a file takes microseconds
        await asyncio.sleep(LOOKED_EVERY)
    app.state.draining = True
    # Append the hook only now, so that requests before the draining do not pay for it.
    app.before_send.append(_close)


async def _close(message: "Message", _: "Scope") -> None:
    if message["type"] == "http.response.start":
        message["headers"] = [*message["headers"], (b"connection", b"close")]
