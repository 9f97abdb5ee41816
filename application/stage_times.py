"""Duration of each stage of a request, if a setting asks for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter_ns

STAGES = ("routing", "token", "limits", "body", "work", "database")
"""Stages in the order of the report. ``routing`` includes all time outside the other stages."""


class Watch:
    """Clock of a request that counts each moment for one stage: entering a stage pauses the outer one."""

    __slots__ = ("_since", "_spent", "_stage", "is_shown")

    def __init__(self) -> None:
        self.is_shown = False
        self._stage, self._since = STAGES[0], perf_counter_ns()
        self._spent: dict[str, int] = {}

    def turn(self, stage: str) -> str:
        """Enter a stage, and return the previous one."""
        before, now = self._stage, perf_counter_ns()
        self._spent[before] = self._spent.get(before, 0) + now - self._since
        self._stage, self._since = stage, now
        return before

    def spent(self) -> list[tuple[str, int]]:
        """Return the nanoseconds until now of the entered stages."""
        self.turn(self._stage)
        return [(stage, self._spent[stage]) for stage in STAGES if stage in self._spent]


WATCH: ContextVar[Watch | None] = ContextVar("watch", default=None)
"""Watch of the current request."""


@contextmanager
def on(stage: str) -> Iterator[None]:
    """Time a stage; outside a request, such as in the background, do nothing."""
    watch = WATCH.get()
    if watch is None:
        yield
        return
    before = watch.turn(stage)
    try:
        yield
    finally:
        watch.turn(before)
