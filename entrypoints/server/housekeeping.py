"""Housekeeping: periodically in the background of every process, or at once on the command line."""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from application.operations.housekeeping import Housekeeping
from application.operations.job_results import JobResults
from domain.errors import ServiceUnavailable
from domain.parts.composition import RETENTION
from domain.retention import DatedRecords

log = logging.getLogger(__name__)

Pause = Callable[[float], Awaitable[None]]

EVERY = 3600.0
BETWEEN = 0.1
"""Pause in seconds between two sweeps that find rows, so that requests have priority."""

RETENTION_SETTINGS: Mapping[DatedRecords, str] = MappingProxyType(
    {
        DatedRecords.EVENTS: "TENANTRY_AUDIT_RETENTION_DAYS",
        DatedRecords.HISTORIES: "TENANTRY_HISTORY_RETENTION_DAYS",
        DatedRecords.CHANGES: "TENANTRY_CHANGES_DAYS",
    }
)
"""Variable with a record's retention time."""


async def keep_clean(housekeeping: Housekeeping, results: JobResults, pause: Pause = asyncio.sleep) -> None:
    """Clean at intervals, forever."""

    async def deleted() -> int | None:
        gone = await clean(housekeeping, pause)
        return None if gone is None else gone.total()

    async def tended() -> int:
        return len(await tend(housekeeping))

    while True:
        # Spread processes started together. This randomness is not for security.
        await pause(EVERY * random.uniform(0.5, 1.5))
        # Run each step separately: if a deletion fails, the service still maintains tables and creates partitions.
        await _try(results.recorded("cleaning", deleted))
        await _try(results.recorded("tables", tended))


async def _try(work: Callable[[], Awaitable[object]]) -> None:
    """Log a failure; the work is repeated in an hour."""
    try:
        await work()
    except ServiceUnavailable:
        log.debug("Housekeeping waits while the database is away.")
    except Exception:
        log.exception("Housekeeping failed.")


async def clean(housekeeping: Housekeeping, pause: Pause = asyncio.sleep) -> Counter[str] | None:
    """Sweep until nothing is left; return None if another process does so."""
    gone: Counter[str] = Counter()
    now, among = await housekeeping.now(), RETENTION
    # Repeat only the unfinished rules first; at the end, check all rules once more.
    while (swept := await housekeeping.sweep(now, among)) or (swept is not None and among is not RETENTION):
        among = tuple(swept) or RETENTION
        if swept:
            gone.update({rule.name: number for rule, number in swept.items()})
            await pause(BETWEEN)
    if swept is not None:
        for records in DatedRecords:
            gone += await _forget(housekeeping, records, now, pause)
    if gone:
        log.info("Housekeeping deleted %s.", summary(gone))
    return gone if gone or swept is not None else None


async def _forget(housekeeping: Housekeeping, records: DatedRecords, now: datetime, pause: Pause) -> Counter[str]:
    gone: Counter[str] = Counter()
    while number := await housekeeping.forget(records, now):
        gone[records.value] += number
        await pause(BETWEEN)
    if number is None:
        log.warning(
            "The setting %s has no effect: name the tables' owner in TENANTRY_DATABASE_OWNER_URL.",
            RETENTION_SETTINGS[records],
        )
    return gone


async def tend(housekeeping: Housekeeping) -> Sequence[str]:
    """Vacuum and analyse tables if autovacuum is late."""
    tables = await housekeeping.tend()
    if tables:
        log.info("Housekeeping tended the tables %s: autovacuum had not come.", ", ".join(tables))
    return tables


def summary(gone: Counter[str]) -> str:
    """Summarise deleted data: ``3 ended sessions, 1 invitations``."""
    return ", ".join(f"{number} {what}" for what, number in gone.items())
