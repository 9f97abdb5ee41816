"""A clock that tests move, and reproducible ids."""

from datetime import UTC, datetime, timedelta
from itertools import count
from uuid import UUID

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


class MovableClock:
    """A clock that changes only when ``move`` is called."""

    def __init__(self, now: datetime = START) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def move(self, by: timedelta) -> None:
        self._now += by


class CountingIds:
    """Ids in the form of UUIDv7: a constant millisecond and a counter."""

    def __init__(self, at: datetime = START) -> None:
        self._milliseconds = int(at.timestamp() * 1000)
        self._numbers = count(1)

    def new(self) -> UUID:
        return UUID(int=self._milliseconds << 80 | 7 << 76 | 2 << 62 | next(self._numbers))
