"""Two processes and the memory they share, as the contracts of that memory see them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from adapters.memory.admissions import MemoryAdmissions
from adapters.memory.clock import MovableClock
from adapters.redis.admissions import RedisAdmissions
from adapters.redis.commands import Commands
from adapters.redis.lease import Lease, Times
from adapters.redis.shared_pipeline import SharedPipeline, redis_client
from application.ports.admissions import Admissions, ShownToken
from application.ports.revocation import Revocations


def naming(*subjects: str) -> ShownToken:
    """A token that is alive whatever the counts are."""
    return ShownToken(dict.fromkeys(subjects, 1_000_000), ())


class Process(Admissions, Revocations, Protocol):
    """One of those that share: what it asks, and what it raises."""


class Shared(Protocol):
    """Two processes and what they share, with time that moves and a memory that can be lost."""

    clock: MovableClock
    one: Process
    other: Process

    async def open(self) -> None: ...

    async def lose(self) -> None: ...


@dataclass
class SharedMemory:
    clock: MovableClock = field(default_factory=MovableClock)

    def __post_init__(self) -> None:
        self._only = MemoryAdmissions(self.clock)
        self.one: Process = self._only
        self.other: Process = self._only

    async def open(self) -> None:
        pass

    async def lose(self) -> None:
        self._only.forget()


class NothingDue:
    """An outbox of changes that are all known."""

    async def due(self, age: float, most: int) -> dict[str, int]:
        return {}

    async def published(self, counts: Mapping[str, int]) -> None:
        pass


class SharedRedis:
    """With a lease that lives as long as the case."""

    def __init__(self, url: str) -> None:
        self.clock = MovableClock()
        self.pipelines = [SharedPipeline(redis_client(url)), SharedPipeline(redis_client(url))]
        self._renewing = self._process(self.pipelines[0])
        self.one: Process = self._renewing
        self.other: Process = self._process(self.pipelines[1])

    def _process(self, pipeline: SharedPipeline) -> RedisAdmissions:
        now = lambda: int(self.clock.now().timestamp() * 1_000_000)  # noqa: E731
        lease = Lease(pipeline, NothingDue(), Times(lifetime=3_600), commands=Commands(now=now))
        return RedisAdmissions(lease, MemoryAdmissions(self.clock))

    async def open(self) -> None:
        assert await self._renewing.renew()

    async def lose(self) -> None:
        await self.pipelines[0].call(("FLUSHDB",))
        await self.open()

    async def close(self) -> None:
        for pipeline in self.pipelines:
            await pipeline.close()
