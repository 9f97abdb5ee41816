"""Two processes with a shared memory, for the contracts of Admissions and Revocations."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from adapters.memory.admissions import MemoryAdmissions
from adapters.memory.clock import MovableClock
from adapters.redis.admissions import RedisAdmissions
from adapters.redis.client import redis_client
from adapters.redis.commands import Commands
from adapters.redis.lease import Lease, Times
from adapters.redis.shared_pipeline import SharedPipeline
from application.ports.shared_memory import Admissions, PresentedToken, Revocations
from tests.waiting import HUNG_AFTER


def naming(*subjects: str) -> PresentedToken:
    """A token with these subjects that is alive whatever the versions are."""
    return PresentedToken(dict.fromkeys(subjects, 1_000_000), ())


class Process(Admissions, Revocations, Protocol):
    """A process that shares the memory."""


class Shared(Protocol):
    """Two processes and their memory, with a clock that can be moved; ``lose`` empties the memory."""

    clock: MovableClock
    first: Process
    second: Process

    async def open(self) -> None: ...

    async def lose(self) -> None: ...


@dataclass
class SharedMemory:
    clock: MovableClock = field(default_factory=MovableClock)

    def __post_init__(self) -> None:
        self._only = MemoryAdmissions(self.clock)
        self.first: Process = self._only
        self.second: Process = self._only

    async def open(self) -> None:
        pass

    async def lose(self) -> None:
        self._only.forget()


class NothingDue:
    """An outbox of token versions without unpublished changes."""

    async def due(self, age: float, most: int) -> dict[str, int]:
        return {}

    async def published(self, versions: Mapping[str, int]) -> None:
        pass


class SharedRedis:
    """Two processes on a Redis, with a lease that lasts as long as the test."""

    def __init__(self, url: str, *, spread: bool = False, lose: Callable[[], Awaitable[None]] | None = None) -> None:
        """``spread`` is for a cluster, and ``lose`` empties its nodes."""
        self._lose = lose
        self._spread = spread
        self.clock = MovableClock()
        # long enough for a busy machine: contracts ask for numbers, outages have tests of their own
        self.pipelines = [SharedPipeline(redis_client(url), patience=HUNG_AFTER) for _ in range(2)]
        self._renewing = self._process(self.pipelines[0])
        self.first: Process = self._renewing
        self.second: Process = self._process(self.pipelines[1])

    def _process(self, pipeline: SharedPipeline) -> RedisAdmissions:
        now = lambda: int(self.clock.now().timestamp() * 1_000_000)  # noqa: E731  # a one-line function
        lease = Lease(pipeline, NothingDue(), Times(lifetime=3_600), commands=Commands(now=now, spread=self._spread))
        return RedisAdmissions(lease, MemoryAdmissions(self.clock))

    async def open(self) -> None:
        assert await self._renewing.renew()

    async def lose(self) -> None:
        if self._lose is not None:
            await self._lose()
        else:
            await self.pipelines[0].call(("FLUSHDB",))
        await self.open()

    async def close(self) -> None:
        for pipeline in self.pipelines:
            await pipeline.close()


def bump_in_vain(versions: dict[str, int], name: str, error: type[Exception]) -> None:
    """A transaction that bumps the subject's version and is then rolled back by the error."""
    versions[name] = 5
    raise error
