"""Background work of a serving process.

The process reloads signing keys, delivers mail, removes old rows and unused files, stores uses of API keys, warns
tenants of expiring keys, looks up domains again, and sends webhooks.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from functools import partial
from typing import NamedTuple

from adapters.prometheus.metrics import PrometheusMetrics
from application.identity.service_accounts.last_uses import STORED_EVERY, LastUses
from application.operations.monitoring import Monitoring
from application.operations.signing_keys import RELOADED_EVERY, KeyRotation
from application.tasks import beside
from domain.errors import ServiceUnavailable
from entrypoints.assembly.use_cases import Services
from entrypoints.server.ending_streams import ended_by_signals
from entrypoints.server.housekeeping import keep_clean

log = logging.getLogger(__name__)

TRIED_AGAIN_AFTER = 0.5
LOOKED_FOR_MAIL_EVERY = 1.0
LOOKED_FOR_EXPIRY_EVERY = 600.0
LOOKED_FOR_DOMAINS_EVERY = 600.0
SEQUENCED_EVERY = 0.05
LOOKED_FOR_FILES_EVERY = 600.0
LOOKED_FOR_EVENTS_EVERY = 0.25
LOAD_TOLD_EVERY = 1.0
"""Maximum age in seconds of another process's load in a ``/metrics`` answer."""

Work = Callable[[], Awaitable[int]]
"""Does some of the due work, and returns the amount."""


class LogTexts(NamedTuple):
    """Log messages by level: ``debug`` during a database outage, ``error`` after any other failure.

    ``docs/reference/log-lines.md`` lists the texts of every call.
    """

    debug: str
    error: str


MAIL = LogTexts(
    debug="The outbox cannot be read while the database is away.",
    error="The outbox could not be emptied.",
)
USES = LogTexts(
    debug="The uses of API keys are stored when the database is back.",
    error="The uses of API keys could not be stored.",
)
EXPIRY = LogTexts(
    debug="Keys that expire cannot be looked for while the database is away.",
    error="Keys that expire could not be announced.",
)
FILES = LogTexts(
    debug="Unused files cannot be deleted while the database or the store of files is unavailable.",
    error="Unused files could not be deleted.",
)
DOMAINS = LogTexts(
    debug="Domains cannot be looked up while the database is away.",
    error="Domains could not be looked up.",
)

CHANGES = LogTexts(
    debug="Changes receive their positions when the database is back.",
    error="Changes could not receive their positions.",
)
WEBHOOKS = LogTexts(
    debug="Webhooks are delivered when the database is back.",
    error="Webhooks could not be delivered.",
)


@asynccontextmanager
async def background(services: Services) -> AsyncIterator[None]:
    """Run the background tasks, once the signing keys are read."""
    await _first_keys(services.signing_keys)
    results = services.job_results
    work = (
        _keep_reloading(services.signing_keys),
        _keep_doing(services.relay.deliver, LOOKED_FOR_MAIL_EVERY, MAIL),
        keep_clean(services.housekeeping, results),
        _keep_storing_uses(services.last_uses),
        _keep_doing(
            results.recorded("keyExpiry", partial(_all, services.key_expiry.announce)), LOOKED_FOR_EXPIRY_EVERY, EXPIRY
        ),
        _keep_doing(
            results.recorded("unusedFiles", partial(_all, services.unused_files.remove)), LOOKED_FOR_FILES_EVERY, FILES
        ),
        _keep_doing(
            results.recorded("domains", partial(_all, services.domain_checks.check)), LOOKED_FOR_DOMAINS_EVERY, DOMAINS
        ),
        *_following_changes(services),
    )
    try:
        with ended_by_signals(services.streams.end_all):
            async with beside(*work):
                yield
    finally:
        await services.deliverer.stop()
        # Store the last uses of API keys, because the end of the process would lose them.
        await _do(services.last_uses.store, USES)


def _following_changes(services: Services) -> Iterable[Coroutine[object, object, None]]:
    if services.sequencer is not None:
        yield _keep_doing(services.sequencer.sequence, SEQUENCED_EVERY, CHANGES)
        yield _keep_doing(services.fan_out.fan_out, LOOKED_FOR_EVENTS_EVERY, WEBHOOKS)
        yield _keep_doing(services.deliverer.deliver, LOOKED_FOR_EVENTS_EVERY, WEBHOOKS)


async def keep_reporting_load(metrics: PrometheusMetrics, monitoring: Monitoring) -> None:
    """Report this process's load at intervals, for the process that serves the metrics."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + LOAD_TOLD_EVERY
        await asyncio.sleep(LOAD_TOLD_EVERY)
        # A delay of this timer delays every request of the process.
        metrics.see_load(monitoring.load(), max(0.0, loop.time() - due))


async def _first_keys(keys: KeyRotation) -> None:
    """Read the signing keys, or create them at the first start. Wait if the database is unavailable.

    Without the keys, the process would reject every token as forged.
    """
    while True:
        try:
            return await keys.ensure()
        except ServiceUnavailable:
            log.debug("The signing keys are read when the database is back.")
            await asyncio.sleep(TRIED_AGAIN_AFTER)


async def _keep_reloading(keys: KeyRotation) -> None:
    while True:
        await asyncio.sleep(RELOADED_EVERY.total_seconds())
        try:
            await keys.reload()
        except Exception as error:  # noqa: BLE001  # the old keys serve on, and the next turn tries again
            log.warning("The signing keys could not be read again: %s", error)


async def _keep_doing(work: Work, every: float, texts: LogTexts) -> None:
    """Work forever, with a pause of ``every`` seconds when idle.

    Every process polls, but only one receives a due mail, key or domain.
    """
    while True:
        # Work is done in batches: continue until none is found.
        if not await _do(work, texts):
            await asyncio.sleep(every)


async def _all(work: Work) -> int:
    """Do all of the due work, and return its amount."""
    total = 0
    while done := await work():
        total += done
    return total


async def _keep_storing_uses(uses: LastUses) -> None:
    while True:
        await asyncio.sleep(STORED_EVERY)
        await _do(uses.store, USES)


async def _do(work: Work, texts: LogTexts) -> int:
    """Return the amount of work; 0 after a logged failure."""
    try:
        return await work()
    except ServiceUnavailable:
        log.debug(texts.debug)
    except Exception:
        log.exception(texts.error)
    return 0
