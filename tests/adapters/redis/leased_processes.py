"""Two processes, their ways to a Redis and a database that is played: what the tests of the lease move."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any, Literal

from adapters.memory.admissions import MemoryAdmissions
from adapters.memory.clock import MovableClock
from adapters.redis.admissions import RedisAdmissions
from adapters.redis.commands import Commands
from adapters.redis.lease import USUAL, Lease
from adapters.redis.scripts import BEGIN, TAKE_BACK
from adapters.redis.shared_pipeline import Away, Command, SharedPipeline
from application.ports.shared_memory import PendingVersions
from domain.errors import Conflict
from tests.servers.shared_memories import naming

NAMES = (f"user:case-{number}" for number in count())
Turn = Callable[[], Awaitable[None]]
Step = Callable[[], Awaitable[None]]
Pause = Callable[[float], Awaitable[None]]
Pipelines = tuple[SharedPipeline, SharedPipeline, SharedPipeline]


async def at_once() -> None:
    return


State = Literal["open", "cut", "deaf", "late"]


@dataclass
class Line:
    """A process's way to Redis, and what is still on it after the process has given up."""

    pipeline: SharedPipeline
    now: Callable[[], int]
    state: State = "open"
    under_way: list[Command] = field(default_factory=list)

    async def call(self, command: Command) -> Any:
        if self.state == "late":
            self.under_way.append(command)
        if self.state in ("cut", "late"):
            raise Away
        answer = await self.pipeline.call(self._arriving(command))
        if self.state == "deaf":
            raise Away
        return answer

    async def deliver(self) -> None:
        if self.under_way:
            await self.pipeline.call(self._arriving(self.under_way.pop(0)))

    def _arriving(self, command: Command) -> Command:
        """The server reads its clock when a script runs, not when its caller wrote the command."""
        name, sha, keys = command[0], command[1], 3 + int(command[2]) if len(command) > 2 else 0
        if name != "EVALSHA" or sha in (BEGIN.sha, TAKE_BACK.sha):
            return command
        return (*command[:keys], self.now(), *command[keys + 1 :])


@dataclass
class Database:
    """The truth about one subject, and since when the copy may not know it."""

    clock: MovableClock
    name: str = field(default_factory=lambda: next(NAMES))
    truth: int = 0
    pending_since: float | None = None

    def now(self) -> float:
        return self.clock.now().timestamp()

    def commit(self) -> int:
        self.truth += 1
        self.pending_since = self.now() if self.pending_since is None else self.pending_since
        return self.truth

    def due(self, age: float) -> dict[str, int]:
        is_due = self.pending_since is not None and self.pending_since < self.now() - age
        return {self.name: self.truth} if is_due else {}

    def published(self, versions: Mapping[str, int]) -> None:
        if versions.get(self.name, 0) >= self.truth:
            self.pending_since = None


@dataclass
class Outside:
    """All that one actor reaches, each call at its turn: the calls of a SharedPipeline and of PendingVersions."""

    line: Line
    database: Database
    turn: Turn

    async def call(self, command: Command, *, alone: bool = False) -> Any:
        await self.turn()
        return await self.line.call(command)

    async def due(self, age: float, most: int) -> dict[str, int]:
        await self.turn()
        return self.database.due(age)

    async def published(self, versions: Mapping[str, int]) -> None:
        await self.turn()
        self.database.published(versions)

    async def pause(self, seconds: float) -> None:
        until = self.database.now() + seconds
        while self.database.now() < until:
            await self.turn()


class Actor:
    """Does one thing to the outside each time that it is told to go on."""

    def __init__(self, work: Callable[[Turn], Awaitable[None]]) -> None:
        self._go, self._waits = asyncio.Event(), asyncio.Event()
        self._task = asyncio.ensure_future(work(self._turn))
        self._task.add_done_callback(lambda _: self._waits.set())

    async def _turn(self) -> None:
        self._waits.set()
        await self._go.wait()
        self._go.clear()

    @property
    def is_over(self) -> bool:
        return self._task.done()

    async def go_on(self) -> None:
        self._waits.clear()
        self._go.set()
        await self._waits.wait()
        if self.is_over and not self._task.cancelled():
            self._task.result()

    async def die(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


class LeasedProcesses:
    """``floor`` is what a certain answer must reach: all changes whose caller has been answered."""

    def __init__(self, pipelines: Pipelines) -> None:
        self.clock = MovableClock()
        self.times = USUAL
        self.database = Database(self.clock)
        self.name = self.database.name
        self.prefix = self.name.replace(":", "-")
        self.lines = (Line(pipelines[0], self.now), Line(pipelines[1], self.now))
        self.redis = pipelines[2]
        self.floor = 0
        self.actors: dict[str, Actor] = {}
        self.watching = self.process(Line(self.redis, self.now), at_once)

    def process(self, line: Line, turn: Turn) -> RedisAdmissions:
        outside = Outside(line, self.database, turn)
        return self.admissions(outside, outside, outside.pause)

    def admissions(self, pipeline: Any, pending: PendingVersions, pause: Pause = asyncio.sleep) -> RedisAdmissions:
        lease = Lease(pipeline, pending, self.times, commands=self.commands())
        return RedisAdmissions(lease, MemoryAdmissions(self.clock), pause=pause)

    def commands(self) -> Commands:
        return Commands(self.prefix, self.now)

    def now(self) -> int:
        return round(self.database.now() * 1_000_000)

    async def go_on(self, name: str, work: Callable[[Turn], Awaitable[None]], turns: int) -> None:
        """Goes on with what ``name`` does, or begins it; so many turns, or to its end."""
        actor = self.actors.get(name)
        if actor is None or actor.is_over:
            actor = self.actors[name] = Actor(work)
        for _ in range(turns):
            if not actor.is_over:
                await actor.go_on()
                await self.check()

    async def bump(self, line: Line, turn: Turn) -> None:
        async with self.process(line, turn).publishing([self.name]) as versions:
            await turn()
            number = self.database.commit()
            await turn()
            versions[self.name] = number
        self.floor = max(self.floor, number)

    async def refuse(self, line: Line, turn: Turn) -> None:
        with suppress(Conflict):
            async with self.process(line, turn).publishing([self.name]):
                await turn()
                raise Conflict

    async def renew(self, line: Line, turn: Turn) -> None:
        await self.process(line, turn).renew()

    async def read(self, line: Line, turn: Turn) -> None:
        """A request that finds nothing certain, asks the database, and remembers."""
        process = self.process(line, turn)
        admission = await process.admit((), naming(self.name))
        if admission.ticket is not None:
            await turn()
            number = self.database.truth
            await turn()
            await process.remember({self.name: number}, admission.ticket)

    async def flush(self) -> None:
        await self.redis.call(("FLUSHDB",))

    async def evict(self) -> None:
        await self.redis.call(("DEL", self.commands().version_key(self.name)))

    async def die(self, name: str) -> None:
        if (actor := self.actors.pop(name, None)) is not None:
            await actor.die()

    async def wait(self, seconds: float) -> None:
        self.clock.move(timedelta(seconds=seconds))

    async def turn_to(self, line: Line, state: State) -> None:
        line.state = state

    def steps(self) -> list[Step]:
        """What is to be drawn more often stands here more often."""
        waits = [partial(self.wait, seconds) for seconds in (0.06, 0.06, 0.3, 0.6, 0.6, 1.1)]
        return [*self._steps_of(0), *self._steps_of(1), *waits, self.flush, self.evict]

    def _steps_of(self, place: int) -> list[Step]:
        line = self.lines[place]
        states: tuple[State, ...] = ("open", "open", "cut", "deaf", "late")
        bumping, renewing = f"bump {place}", f"renew {place}"
        works = (bumping, self.bump), (renewing, self.renew), (f"read {place}", self.read)
        return [
            *[partial(self.go_on, name, partial(work, line), turns) for name, work in works for turns in (1, 1, 2, 9)],
            partial(self.go_on, f"refuse {place}", partial(self.refuse, line), 1),
            *[partial(self.turn_to, line, state) for state in states],
            line.deliver,
            partial(self.die, bumping),
            partial(self.die, renewing),
        ]

    async def known(self) -> int | None:
        versions = (await self.watching.admit((), naming(self.name))).token_versions
        return None if versions is None else versions[self.name]

    async def check(self) -> None:
        known = await self.known()
        assert known is None or self.floor <= known <= self.database.truth

    async def heal(self) -> None:
        """With everybody gone and every mark at its end, one look and one read make all certain again."""
        for name in list(self.actors):
            await self.die(name)
        await self.wait(self.times.due + 0.01)
        assert await self.watching.renew()
        await self.evict()  # what died inside a change has left a mark, which ends after a while
        await self.read(Line(self.redis, self.now), at_once)
        assert await self.known() == self.database.truth
