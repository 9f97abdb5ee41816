"""Open streams for tests: parsed events of a stream, and a process's streams on a desk's database."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from adapters.http.entities.changes.stream_texts import STREAM_TEXTS
from adapters.memory.admissions import MemoryAdmissions
from adapters.memory.clock import MovableClock
from adapters.memory.wakes import MemoryWakes
from application.entities.changes.arrivals import Arrivals
from application.entities.changes.following import Following, Interests
from application.entities.changes.streams.streams import StreamLimits, Streams
from application.throttle import Throttle
from domain.entities.changes.asking import read_entity_feed
from domain.entities.changes.cursors import read_feed_cursor
from domain.entities.changes.seeing import Interest
from domain.entities.query.query import Condition
from domain.scope import Caller, OneTenant, OwnRows
from tests.builders import NOW, caller
from tests.contracts.entities.changes.conftest import Desk
from tests.contracts.entities.changes.followed_entities import FEEDS, REGISTRY
from tests.waiting import HUNG_AFTER

CARDS = REGISTRY["cards"]
OWN = frozenset({"cards", "tickets"})


class Told(NamedTuple):
    """An event of a stream; ``id`` is the cursor after it."""

    name: str
    id: str
    data: Mapping[str, Any]

    @property
    def action(self) -> str:
        return str(self.data["action"])


def parsed(block: str, last: str) -> Told:
    """Fields of a block, with the former cursor if the block has none. Blocks without data are pauses."""
    lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
    return Told(lines.get("event", "pause"), lines.get("id", last), msgspec.json.decode(lines.get("data", "{}")))


@dataclass
class Listener:
    """A client that reads a stream as fast as it can."""

    pieces: Any
    told: list[Told] = field(default_factory=list)
    raw: bytes = b""
    cursor: str = ""

    def __post_init__(self) -> None:
        self._has_more = asyncio.Event()
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        rest = ""
        try:
            async for piece in self.pieces:
                self.raw += piece
                *blocks, rest = (rest + piece.decode()).split("\n\n")
                for block in blocks:
                    each = parsed(block, self.cursor)
                    self.cursor = each.id
                    self.told += [] if each.name == "pause" else [each]
                self._has_more.set()
        finally:
            self._has_more.set()

    async def opened(self) -> "Listener":
        await self._until(lambda: bool(self.cursor))
        return self

    async def first(self, many: int) -> list[Told]:
        await self._until(lambda: len(self.told) >= many)
        return self.told[:many]

    async def ending(self) -> str:
        """The name of the last event, after the stream has ended."""
        await asyncio.wait_for(asyncio.shield(self._task), HUNG_AFTER)
        return self.told[-1].name

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self.pieces.aclose()

    async def _until(self, holds: Any) -> None:
        async with asyncio.timeout(HUNG_AFTER):
            while not holds():
                if self._task.done():
                    self._task.result()
                    assert holds(), f"the stream ended with {self.told[-1:]}"
                    return
                self._has_more.clear()
                await self._has_more.wait()


@dataclass
class Station:
    """The streams of a process. Each user is known by an id; with ``own`` only own cards and tickets are seen."""

    desk: Desk
    limits: StreamLimits = field(default_factory=StreamLimits)
    clock: MovableClock = field(default_factory=lambda: MovableClock(NOW))

    def __post_init__(self) -> None:
        self.admissions = MemoryAdmissions(self.clock)
        self.throttle = Throttle(self.admissions, self.desk.database)
        self.arrivals = Arrivals(MemoryWakes())
        following = Following(self.desk.database, REGISTRY, self.throttle.ensure_alive, self.arrivals)
        self.streams = Streams(following, self.throttle, self.clock, STREAM_TEXTS, self.limits)
        self.listeners: list[Listener] = []

    def caller(self, **given: Any) -> Caller:
        return caller(**{"tenant_id": self.desk.tenant.id, "expires_at": int(NOW.timestamp()) + 36_000, **given})

    def pieces(self, who: Caller, scope: OneTenant, interests: Interests, after: str = "") -> Any:
        return self.streams.pieces(who, scope, interests, read_feed_cursor(after) if after else None)

    async def listen(
        self, *, after: str = "", own: UUID | None = None, who: Caller | None = None, **filters: str
    ) -> Listener:
        scope: OneTenant = self.desk.tenant
        if own is not None:
            scope = OwnRows(scope.id, user_id=own, sees=OWN, touches=frozenset())
        interests = interests_of(own, **filters)
        listener = Listener(self.pieces(who or self.caller(), scope, interests, after))
        self.listeners.append(listener)
        return await listener.opened()

    async def revoke(self, *subjects: str) -> None:
        """Raise the versions of these subjects, as a use case does."""
        database = self.desk.database
        async with self.admissions.publishing(subjects) as new, database.transaction(self.desk.tenant) as tx:
            new.update(await tx.token_versions.bump(subjects))

    async def close(self) -> None:
        for listener in self.listeners:
            await listener.close()
        await self.arrivals.close()


def interests_of(own: UUID | None, **filters: str) -> dict[str, Interest]:
    where: tuple[Condition, ...]
    _, where = read_entity_feed(CARDS, REGISTRY, frozenset(), list(filters.items()))
    plain = {
        plural: Interest(model=REGISTRY[plural], own_of=own if plural in OWN else None)
        for plural in (("cards",) if filters else FEEDS)
    }
    return {**plain, "cards": replace_where(plain["cards"], where)}


def replace_where(interest: Interest, where: tuple[Condition, ...]) -> Interest:
    return msgspec.structs.replace(interest, where=where)
