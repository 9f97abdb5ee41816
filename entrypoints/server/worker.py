"""The ASGI application, and the processes that serve it."""

import asyncio
import ctypes
import gc
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from litestar import Litestar

from application.tasks import beside
from entrypoints.assembly.traces import start_traces
from entrypoints.server.draining import drained
from entrypoints.server.logging.access_log import access_writer, with_fields
from entrypoints.server.logging.log_writer import LogWriter, written_beside
from entrypoints.server.logging.setup import configure_logs, rendering
from entrypoints.server.plugin import Service, production_with
from entrypoints.settings.settings import Settings

if TYPE_CHECKING:
    from adapters.opentelemetry.traces import Traces

PR_SET_PDEATHSIG = 1
LOOKED_EVERY = 0.5
WOKEN_AFTER = (0.2, 1.0, 5.0)
"""Seconds between the wake-ups of a loop that has just begun to serve."""


def worker(settings: Settings, parent: int, flag: Path | None = None) -> Litestar:
    """The application in a process of ``tenantry serve``, which ends with it, whatever ends it.

    ``flag`` is the file that begins to drain it.
    """
    gc.disable()  # until everything is made, as in the parent
    _die_with(parent)
    configure_logs(settings)
    return served(settings, parent, flag)


def served(settings: Settings, parent: int | None = None, flag: Path | None = None) -> Litestar:
    """The service's plugin on an empty application, as a process of its own."""
    writer = LogWriter([with_fields, *rendering(settings)])
    service = Service(settings, runtime=production_with(access_writer(settings, writer)))
    traces = start_traces()

    @asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        # The log is the last to end, so that it has the lines of everything else.
        with written_beside(writer):
            async with _traced(traces):
                if parent is None:
                    yield
                    return
                _leave_terminal_to_parent()
                async with _watched(parent), heeding_signals(), drained(app, flag):
                    yield

    middleware = [] if traces is None else traces.middleware()
    return service.application(
        [lifespan], on_startup=[] if parent is None else [_keep_what_is_made], middleware=middleware
    )


@asynccontextmanager
async def _traced(traces: "Traces | None") -> AsyncIterator[None]:
    """Sends what is left of the traces at the end."""
    try:
        yield
    finally:
        if traces is not None:
            await traces.close()


async def _keep_what_is_made() -> None:
    # It stays as long as the process: the collector's passes over it would stop requests for tens of milliseconds.
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    gc.enable()


@asynccontextmanager
async def _watched(parent: int) -> AsyncIterator[None]:
    if sys.platform == "linux":
        yield  # the kernel watches
        return
    async with beside(_watch(parent)):
        yield


@asynccontextmanager
async def heeding_signals() -> AsyncIterator[None]:
    """Has the loop handle a signal that came while it stood still, between the end of the startup and the serving.

    uvloop notes such a signal and calls its handler with the next one: a service that is told to end at the moment at
    which it is ready would not hear it, and be killed when the time to end is over.
    """
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGURG, lambda: None)  # whoever has no handler ignores it
    async with beside(_wake()):
        yield


async def _wake() -> None:
    for seconds in WOKEN_AFTER:
        await asyncio.sleep(seconds)
        signal.raise_signal(signal.SIGURG)


def _leave_terminal_to_parent() -> None:
    """Ctrl-C and a closed terminal reach all processes at once; the parent lets them finish, one signal later."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, lambda: None)


def _die_with(parent: int) -> None:
    """Has the system end this process with its parent, where it can."""
    # A worker that outlived its parent would keep the port.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != parent:  # it ended before the system was asked
            os._exit(1)


async def _watch(parent: int) -> None:
    """Ends this process after its parent, on systems that do not."""
    while os.getppid() == parent:  # noqa: ASYNC110  # nobody tells
        await asyncio.sleep(LOOKED_EVERY)
    os.kill(os.getpid(), signal.SIGKILL)
