"""The ASGI application, and the processes that serve it."""

import asyncio
import ctypes
import gc
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from litestar import Litestar

from application.operations.mail_delivery import OutboxRelay
from application.operations.signing_keys import RELOADED_EVERY, KeyRotation
from domain.errors import ServiceUnavailable
from entrypoints.cli.errors import SETTINGS, CommandError
from entrypoints.composition import production_adapters
from entrypoints.entities import load_registry
from entrypoints.server.access_log import access_writer, kept
from entrypoints.server.housekeeping import keep_clean
from entrypoints.server.logs import configure_logs
from entrypoints.settings.settings import Settings, read_settings
from entrypoints.use_cases import Services, application, assemble

log = logging.getLogger(__name__)

PR_SET_PDEATHSIG = 1
TRIED_AGAIN_AFTER = 0.5
LOOKED_FOR_MAIL_EVERY = 1.0


def from_environment() -> Litestar:
    """For any ASGI server, such as ``granian --interface asgi --factory entrypoints.server.worker:from_environment``.

    It starts no servers and migrates nothing: that is done by ``tenantry serve`` and ``tenantry migrate``.
    """
    settings = read_settings(os.environ)
    if settings.database_url is None or settings.redis_url is None:
        raise CommandError(
            "Without `tenantry serve` there are no embedded servers: set TENANTRY_DATABASE_URL and TENANTRY_REDIS_URL.",
            SETTINGS,
        )
    configure_logs(settings)
    return served(settings)


def worker(settings: Settings, parent: int) -> Litestar:
    """The application in a process of ``tenantry serve``, which ends with it, whatever ends it."""
    _die_with(parent)
    configure_logs(settings)
    return served(settings, parent)


def served(settings: Settings, parent: int | None = None) -> Litestar:
    adapters = production_adapters(settings, load_registry(settings.entities))
    services = assemble(adapters, settings)
    access = access_writer(settings)

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        if parent is not None:
            _leave_ctrl_c_to_parent()
        with kept(access):
            async with adapters.life():
                await _first_keys(services.signing_keys)
                if parent is not None:
                    _keep_what_is_made()
                async with _background(services, parent):
                    yield

    return application(services, settings, lifespan, access)


def _keep_what_is_made() -> None:
    """It stays as long as the process: the collector's passes over it would stop requests for tens of milliseconds."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


async def _first_keys(keys: KeyRotation) -> None:
    """Without them every token would look forged: while the database is away, the process waits for it."""
    while True:
        try:
            return await keys.reload()
        except ServiceUnavailable:
            log.warning("The database does not answer: waiting for it.")
            await asyncio.sleep(TRIED_AGAIN_AFTER)


@asynccontextmanager
async def _background(services: Services, parent: int | None) -> AsyncIterator[None]:
    tasks = [
        asyncio.create_task(_keep_reloading(services.signing_keys)),
        asyncio.create_task(_keep_delivering(services.relay)),
        asyncio.create_task(keep_clean(services.housekeeping)),
    ]
    if parent is not None and sys.platform != "linux":
        tasks.append(asyncio.create_task(_watch(parent)))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _keep_reloading(keys: KeyRotation) -> None:
    while True:
        await asyncio.sleep(RELOADED_EVERY.total_seconds())
        try:
            await keys.reload()
        except Exception as error:  # noqa: BLE001  # the old keys serve on, and the next turn tries again
            log.warning("The signing keys could not be read again: %s", error)


async def _keep_delivering(relay: OutboxRelay) -> None:
    """Every process looks for itself: a mail is handed to one of them alone."""
    while True:
        taken = 0
        try:
            taken = await relay.deliver()
        except ServiceUnavailable:
            log.debug("The outbox cannot be read while the database is away.")
        except Exception:
            log.exception("The outbox could not be emptied.")
        if not taken:
            await asyncio.sleep(LOOKED_FOR_MAIL_EVERY)


def _leave_ctrl_c_to_parent() -> None:
    """The terminal tells all processes at once; the parent lets them finish, one signal later."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, lambda: None)


def _die_with(parent: int) -> None:
    """Where the system can: a worker that outlived its parent would keep the port."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != parent:
            os._exit(1)


async def _watch(parent: int) -> None:
    """Where it cannot, the worker looks."""
    while os.getppid() == parent:  # noqa: ASYNC110  # nobody tells
        await asyncio.sleep(TRIED_AGAIN_AFTER)
    os.kill(os.getpid(), signal.SIGKILL)
