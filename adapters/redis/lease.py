"""Lease of the copy of token versions: only while it lives are the numbers in Redis believed."""

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

    ``due`` is how long a bumped version is left to whoever bumped it, before others take it over.
    """

    lifetime: float = 2.0
    due: float = 0.5
    turn: float = 0.4
    slack: float = 0.25

    @property
    def until_known(self) -> float:
        """The longest time, counted from a commit, that a lease lives whose renewal did not see the commit."""
        return self.lifetime + self.due + self.slack


USUAL = Times()


MOST_DUE = 500


class Lease:
    """Lease that the first process to come renews, after a look for bumped versions that were not published.

    A lease ends so long after the server's time *before* the database was read: however late the renewal
    arrives, it cannot be stretched by it.
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
        """Has the published versions marked in the background, many at once."""
        for subject, version in versions.items():
            self._published[subject] = max(version, self._published.get(subject, 0))
        self._woken.set()

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        async with beside(self._keep()):
            yield

    async def renew(self) -> bool:
        """Whether the lease lives on; False while the server or the database is away, or more is due than fits."""
        try:
            now, ends, server = await self.pipeline.call(self.commands.look())
            if ends - now > self.times.lifetime * 600_000:  # microseconds: others have renewed it just now
                return True
            due = await self._pending.due(self.times.due, MOST_DUE)
            if due:
                await self.pipeline.call(self.commands.publish(self.commands.nonce(), tuple(due), due))
                await self._pending.published(due)
            if len(due) >= MOST_DUE:  # more may be due, and a lease would say that all is known
                return False
            # Counted from the time before the database was read: see the class.
            ends = now + int(self.times.lifetime * 1_000_000)
            return bool(await self.pipeline.call(self.commands.renew(ends, server.decode())))
        except (Away, ServiceUnavailable):
            return False

    async def clear(self) -> None:
        """Marks what has been published; versions that cannot be marked are found due, and published again."""
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
        """Clears at once what was published, and renews at its time."""
        loop = asyncio.get_running_loop()
        await self.renew()
        ends = loop.time() + self.times.turn
        while (left := ends - loop.time()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._woken.wait()
            self._woken.clear()
            await self.clear()
