"""Freshness: a write is answered once its reads can know of it."""

from dataclasses import dataclass, field
from uuid import uuid4

import pytest

from adapters.memory.clock import MovableClock
from adapters.memory.last_writes import MemoryLastWrites
from application.freshness import Freshness
from application.ports.replicas import BEGINNING, NOWHERE_YET, Position, Wanted
from domain.errors import ServiceUnavailable

SESSION = uuid4()


@dataclass
class Log:
    """A log that stands at one place; ``awaited`` are the positions that replicas were waited for."""

    at: Position | None
    awaited: list[Position] = field(default_factory=list)

    async def position(self) -> Position:
        if self.at is None:
            raise ServiceUnavailable
        return self.at

    async def replayed(self, position: Position) -> None:
        self.awaited.append(position)


def freshness(at: Position | None) -> tuple[Freshness, MemoryLastWrites, Log]:
    last_writes, log = MemoryLastWrites(MovableClock()), Log(at)
    return Freshness(last_writes, log), last_writes, log


@pytest.mark.parametrize(("at", "told"), [(Position(1, 0x10), Position(1, 0x10)), (None, NOWHERE_YET)], ids=str)
async def test_a_write_that_is_kept_is_wanted_by_the_next_read_and_nobody_waits(
    at: Position | None, told: Position
) -> None:
    fresh, _, log = freshness(at)
    assert await fresh.wanted(SESSION) == Wanted(SESSION, BEGINNING)
    assert await fresh.written(SESSION) == told
    assert await fresh.wanted(SESSION) == Wanted(SESSION, told)
    assert log.awaited == []


@pytest.mark.parametrize(("at", "told"), [(Position(1, 0x10), Position(1, 0x10)), (None, NOWHERE_YET)], ids=str)
async def test_a_write_that_cannot_be_kept_is_answered_once_the_replicas_have_it(
    at: Position | None, told: Position
) -> None:
    fresh, last_writes, log = freshness(at)
    last_writes.down = True
    assert await fresh.written(SESSION) == told
    assert log.awaited == [told]
    assert await fresh.wanted(SESSION) is None
