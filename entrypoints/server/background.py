"""Work that a serving process does beside its requests.

Signing keys are read again, mail is delivered, old rows are removed, uses of API keys are stored, tenants are told of
keys that expire, and domains are looked up again.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from application.identity.joining.domain_checks import DomainChecks
from application.identity.service_accounts.key_expiry import KeyExpiry
from application.identity.service_accounts.last_uses import STORED_EVERY, LastUses
from application.operations.mail_delivery import OutboxRelay
from application.operations.signing_keys import RELOADED_EVERY, KeyRotation
from domain.errors import ServiceUnavailable
from entrypoints.server.housekeeping import keep_clean
from entrypoints.use_cases import Services

log = logging.getLogger(__name__)

TRIED_AGAIN_AFTER = 0.5
LOOKED_FOR_MAIL_EVERY = 1.0
LOOKED_FOR_EXPIRY_EVERY = 600.0
LOOKED_FOR_DOMAINS_EVERY = 600.0


@asynccontextmanager
async def background(services: Services) -> AsyncIterator[None]:
    """Begins when the signing keys have been read."""
    await _first_keys(services.signing_keys)
    tasks = [
        asyncio.create_task(_keep_reloading(services.signing_keys)),
        asyncio.create_task(_keep_delivering(services.relay)),
        asyncio.create_task(keep_clean(services.housekeeping)),
        asyncio.create_task(_keep_storing_uses(services.last_uses)),
        asyncio.create_task(_keep_announcing(services.key_expiry)),
        asyncio.create_task(_keep_checking(services.domain_checks)),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        # What was noted since the last turn would be lost with the process.
        await _store_uses(services.last_uses)


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


async def _keep_storing_uses(uses: LastUses) -> None:
    while True:
        await asyncio.sleep(STORED_EVERY)
        await _store_uses(uses)


async def _store_uses(uses: LastUses) -> None:
    try:
        await uses.store()
    except ServiceUnavailable:
        log.debug("The uses of API keys are stored when the database is back.")
    except Exception:
        log.exception("The uses of API keys could not be stored.")


async def _keep_announcing(expiry: KeyExpiry) -> None:
    """Every process looks for itself: a key is announced by one of them alone."""
    while True:
        announced = 0
        try:
            announced = await expiry.announce()
        except ServiceUnavailable:
            log.debug("Keys that expire cannot be looked for while the database is away.")
        except Exception:
            log.exception("Keys that expire could not be announced.")
        # As long as some were found there may be more: they are taken some at a time.
        if not announced:
            await asyncio.sleep(LOOKED_FOR_EXPIRY_EVERY)


async def _keep_checking(checks: DomainChecks) -> None:
    """Every process looks for itself: a domain that is due is looked up by one of them alone."""
    while True:
        checked = 0
        try:
            checked = await checks.check()
        except ServiceUnavailable:
            log.debug("Domains cannot be looked up while the database is away.")
        except Exception:
            log.exception("Domains could not be looked up.")
        if not checked:
            await asyncio.sleep(LOOKED_FOR_DOMAINS_EVERY)
