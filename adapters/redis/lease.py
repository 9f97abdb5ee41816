"""Lease of the token versions' copy: the numbers in Redis are valid only during the lease."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from adapters.redis.commands import Commands
from adapters.redis.shared_pipeline import Away, SharedPipeline
from application.ports.shared_memory import PendingVersions
from application.tasks import beside
from domain.errors import ServiceUnavailable

log = logging.getLogger(__name__)


class Times(NamedTuple):
    """Times of a lease, in seconds.

    ``due`` is the time for a process to publish its new version, before others publish it.
    """

    lifetime: float = 2.0
    due: float = 0.5
    turn: float = 0.4
    slack: float = 0.25

    @property
    def until_known(self) -> float:
        """Longest lifetime of a lease after a commit that the renewal of the lease did not see."""
        return self.lifetime + self.due + self.slack


USUAL = Times()


MOST_DUE = 500


class Lease:
    """Lease renewed by the first process that finds it due, after a check for unpublished versions.

    A lease's duration starts at the server's time *before* the database was read, so a late renewal cannot extend it.
    """

    def __init__(
        self,
        pipeline: SharedPipeline,
        pending: PendingVersions,
        times: Times = USUAL,
        *,
        commands: Commands | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.commands = commands or Commands()
        self.times = times
        self._pending = pending
        self._published: dict[str, int] = {}
        self._woken = asyncio.Event()

    def published(self, versions: Mapping[str, int]) -> None:
        """Mark the published versions in the background, many at once."""
        for subject, version in versions.items():
            self._published[subject] = max(version, self._published.get(subject, 0))
        self._woken.set()

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        async with beside(self._keep()):
            yield

    async def renew(self) -> bool:
        """Renew the lease; return False if the server or the database is unavailable, or too many versions are due."""
        try:
            now, ends, server = await self.pipeline.call(self.commands.look())
            # in microseconds: another process has just renewed the lease
            if ends - now > self.times.lifetime * 600_000:
                return True
            due = await self._pending.due(self.times.due, MOST_DUE)
            if due:
                await self.pipeline.call(self.commands.publish(self.commands.nonce(), tuple(due), due))
                await self._pending.published(due)
            if len(due) >= MOST_DUE:  # more may be due: a lease would be premature
                return False
            # Count from before the database read: see the class.
            ends = now + int(self.times.lifetime * 1_000_000)
            return bool(await self.pipeline.call(self.commands.renew(ends, server.decode())))
        except (Away, ServiceUnavailable):
            return False

    async def clear(self) -> None:
        """Mark versions as published in the database. Renewals publish unmarked versions again."""
        published, self._published = self._published, {}
        if published:
            with suppress(ServiceUnavailable):
                await self._pending.published(published)

    async def _keep(self) -> None:
        while True:
            try:
                await self._turn()
            except Exception:
                log.exception("The lease of the token versions could not be renewed.")
                await asyncio.sleep(self.times.turn)

    async def _turn(self) -> None:
        """Clear published versions at once; renew the lease when due."""
        loop = asyncio.get_running_loop()
        await self.renew()
        ends = loop.time() + self.times.turn
        while (left := ends - loop.time()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._woken.wait()
            self._woken.clear()
            await self.clear()
