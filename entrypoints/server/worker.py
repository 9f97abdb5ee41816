"""The ASGI application and the processes that serve it."""

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
"""Seconds between the wake-ups of an event loop that has just started to serve."""


def worker(settings: Settings, parent: int, flag: Path | None = None) -> Litestar:
    """Return the application for a worker process of ``tenantry serve``. The worker ends with its parent.

    ``flag`` is the file that starts the draining.
    """
    gc.disable()  # until everything is made, as in the parent
    _die_with(parent)
    configure_logs(settings)
    return served(settings, parent, flag)


def served(settings: Settings, parent: int | None = None, flag: Path | None = None) -> Litestar:
    """Return the service's plugin on an empty application, for a separate process."""
    writer = LogWriter([with_fields, *rendering(settings)])
    service = Service(settings, runtime=production_with(access_writer(settings, writer)))
    traces = start_traces()

    @asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        # Close the log last, so that it contains all entries.
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
    try:
        yield
    finally:
        if traces is not None:
            await traces.close()


async def _keep_what_is_made() -> None:
    # These objects are permanent. Collect and freeze them now, because later collections would stop requests for tens
    # of milliseconds.
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    gc.enable()


@asynccontextmanager
async def _watched(parent: int) -> AsyncIterator[None]:
    if sys.platform == "linux":
        yield  # the kernel ends the process, so no task is necessary
        return
    async with beside(_watch(parent)):
        yield


@asynccontextmanager
async def heeding_signals() -> AsyncIterator[None]:
    """Make the event loop handle a signal that arrives between startup and serving.

    uvloop calls the handler of such a signal only at the next signal, so the parent would kill a service stopped at
    that moment after the timeout.
    """
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGURG, lambda: None)  # a process without a handler ignores this signal
    async with beside(_wake()):
        yield


async def _wake() -> None:
    for seconds in WOKEN_AFTER:
        await asyncio.sleep(seconds)
        signal.raise_signal(signal.SIGURG)


def _leave_terminal_to_parent() -> None:
    """Ignore Ctrl-C and a closed terminal: the parent ends the workers with another signal."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, lambda: None)


def _die_with(parent: int) -> None:
    """Let the kernel end this process with its parent."""
    # A worker that outlived its parent would hold the port.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != parent:  # the parent ended before the request to the kernel
            os._exit(1)


async def _watch(parent: int) -> None:
    """End this process after its parent."""
    while os.getppid() == parent:  # noqa: ASYNC110  # nobody tells
        await asyncio.sleep(LOOKED_EVERY)
    os.kill(os.getpid(), signal.SIGKILL)
