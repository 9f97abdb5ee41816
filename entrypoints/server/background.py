"""Work that a serving process does beside its requests.

Signing keys are read again, mail is delivered, old rows are removed, uses of API keys are stored, tenants are told of
keys that expire, and domains are looked up again.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from adapters.prometheus.metrics import PrometheusMetrics
from application.identity.service_accounts.last_uses import STORED_EVERY, LastUses
from application.operations.monitoring import Monitoring
from application.operations.signing_keys import RELOADED_EVERY, KeyRotation
from application.tasks import beside
from domain.errors import ServiceUnavailable
from entrypoints.assembly.use_cases import Services
from entrypoints.server.housekeeping import keep_clean

log = logging.getLogger(__name__)

TRIED_AGAIN_AFTER = 0.5
LOOKED_FOR_MAIL_EVERY = 1.0
LOOKED_FOR_EXPIRY_EVERY = 600.0
LOOKED_FOR_DOMAINS_EVERY = 600.0
LOAD_TOLD_EVERY = 1.0
"""Seconds: the greatest age of another process's load in an answer of ``/metrics``."""

Work = Callable[[], Awaitable[int]]
"""Does what is due, some of it at a time, and returns how much that was."""


class LogTexts(NamedTuple):
    """Log lines by their level: ``debug`` while the database is away, ``error`` after any other failure.

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
DOMAINS = LogTexts(
    debug="Domains cannot be looked up while the database is away.",
    error="Domains could not be looked up.",
)


@asynccontextmanager
async def background(services: Services) -> AsyncIterator[None]:
    """Begins when the signing keys have been read."""
    await _first_keys(services.signing_keys)
    work = (
        _keep_reloading(services.signing_keys),
        _keep_doing(services.relay.deliver, LOOKED_FOR_MAIL_EVERY, MAIL),
        keep_clean(services.housekeeping),
        _keep_storing_uses(services.last_uses),
        _keep_doing(services.key_expiry.announce, LOOKED_FOR_EXPIRY_EVERY, EXPIRY),
        _keep_doing(services.domain_checks.check, LOOKED_FOR_DOMAINS_EVERY, DOMAINS),
    )
    try:
        async with beside(*work):
            yield
    finally:
        # What was noted since the last turn would be lost with the process.
        await _do(services.last_uses.store, USES)


async def keep_reporting_load(metrics: PrometheusMetrics, monitoring: Monitoring) -> None:
    """Tells this process's load to the metrics, for the process that is asked for them."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + LOAD_TOLD_EVERY
        await asyncio.sleep(LOAD_TOLD_EVERY)
        # what keeps this timer waiting keeps every request of the process waiting
        metrics.see_load(monitoring.load(), max(0.0, loop.time() - due))


async def _first_keys(keys: KeyRotation) -> None:
    """Reads the keys, and makes them at the very first start; while the database is away, the process waits for it.

    Without them every token would look forged.
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
    """Works at once and for ever, with a pause of ``every`` seconds whenever there was nothing to do.

    Every process looks for itself: a mail, a key or a domain that is due is handed to one of them alone.
    """
    while True:
        # As long as some were found there may be more: they are taken some at a time.
        if not await _do(work, texts):
            await asyncio.sleep(every)


async def _keep_storing_uses(uses: LastUses) -> None:
    while True:
        await asyncio.sleep(STORED_EVERY)
        await _do(uses.store, USES)


async def _do(work: Work, texts: LogTexts) -> int:
    """Does the work and returns how much it was; logs a failure and returns 0."""
    try:
        return await work()
    except ServiceUnavailable:
        log.debug(texts.debug)
    except Exception:
        log.exception(texts.error)
    return 0
