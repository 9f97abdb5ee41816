"""Results of background jobs and backups: every process records them, and the report of the service shows them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from application.ports.runtime import Clock
from application.ports.shared_memory import Cache
from domain.errors import ServiceUnavailable

Job = Literal["backup", "cleaning", "tables", "unusedFiles", "keyExpiry", "domains"]
KEPT = timedelta(days=400)


class JobResult(Struct, rename="camel", kw_only=True, frozen=True):
    """The last run of a job; ``amount`` is that of the last run with work: rows, files, tables, keys or bytes."""

    job: Job
    at: datetime
    has_failed: bool = False
    amount: int = 0
    worked_at: datetime | None = None


@dataclass(frozen=True)
class JobResults:
    """Results in the shared memory, which may lose them."""

    cache: Cache
    clock: Clock

    async def latest(self) -> list[JobResult]:
        """Return the results of the jobs that ran."""
        found = [await self._last(job) for job in get_args(Job)]
        return [result for result in found if result is not None]

    async def record(self, job: Job, amount: int, *, has_failed: bool = False) -> None:
        now, last = self.clock.now(), await self._last(job)
        if amount or last is None:
            worked_at = now if amount else None
        else:
            amount, worked_at = last.amount, last.worked_at
        result = JobResult(job=job, at=now, has_failed=has_failed, amount=amount, worked_at=worked_at)
        await self.cache.put(_key(job), msgspec.json.encode(result), KEPT)

    def recorded(self, job: Job, work: Callable[[], Awaitable[int | None]]) -> Callable[[], Awaitable[int]]:
        """Return ``work`` with its result recorded, except during an outage, or if it returns None because another
        process did it.
        """

        async def run() -> int:
            try:
                done = await work()
            except ServiceUnavailable:
                raise
            except Exception:
                await self.record(job, 0, has_failed=True)
                raise
            if done is not None:
                await self.record(job, done)
            return done or 0

        return run

    async def _last(self, job: Job) -> JobResult | None:
        found = await self.cache.get(_key(job))
        try:
            return None if found is None else msgspec.json.decode(found, type=JobResult)
        except msgspec.MsgspecError:  # Another version of the service recorded it.
            return None


def _key(job: Job) -> str:
    return f"job:{job}"
