"""Requests that wait for a connection: a queue per session state, in order of arrival."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from adapters.postgres.connection.connections import ServiceConnection

LOOKED_AT = 64
"""Number of waiting requests to examine for one that no connection in use will soon serve."""
PASSED_OVER = 64
"""Number of later requests that may be served before the longest-waiting one; then it gets the next connection."""

Given = ServiceConnection | None
"""Result of a wait: a connection, or None if the request should acquire one from asyncpg's pool."""


class PoolBusy(TimeoutError):
    """Raised if all connections are in use and none returned in time. The database itself may work well."""


@dataclass(eq=False, slots=True)
class Waiter:
    """A request that waits for a connection in the session state ``state``.

    ``stays`` is false for a transaction, because its session state ends with it.
    """

    state: str
    stays: bool
    given: "asyncio.Future[Given]"
    passed_over: int = 0

    def has_been_given(self) -> bool:
        return self.given.done() and not self.given.cancelled() and self.given.exception() is None

    def give_up(self) -> None:
        if not self.given.done():
            self.given.set_exception(PoolBusy())


@dataclass(eq=False, slots=True)
class WaitingRequests:
    """Requests waiting for a connection, by session state and in order of arrival.

    ``_rows`` holds every waiter by its session state; ``_order`` those that accept a connection of any state.
    """

    _rows: dict[str, deque[Waiter]] = field(default_factory=dict)
    _order: deque[Waiter] = field(default_factory=deque)

    async def wait(self, state: str, seconds: float, *, stays: bool, takes_any: bool, unwanted: "Unwanted") -> Given:
        """Wait for a connection. Raises PoolBusy. Passes a connection that arrives too late to ``unwanted``."""
        loop = asyncio.get_running_loop()
        waiter = Waiter(state, stays, loop.create_future())
        self._rows.setdefault(state, deque()).append(waiter)
        if takes_any:
            self._order.append(waiter)
        # A timer handle costs half of asyncio.timeout().
        patience = loop.call_later(seconds, waiter.give_up)
        try:
            return await waiter.given
        except BaseException:
            if waiter.has_been_given():
                unwanted(waiter.given.result(), waiter)
            else:
                self._leave(waiter)
            raise
        finally:
            patience.cancel()
            # Break the reference cycle between error, frame and waiter.
            del waiter, patience

    def next_for(self, state: str | None, *, hoped_for: Callable[[str], bool]) -> Waiter | None:
        """Remove and return the waiter for a connection with this session state.

        Prefer the same state; then a state for which ``hoped_for`` is false, because no connection in use will have it
        soon; then the longest-waiting one.
        """
        longest = self._longest()
        if longest is not None and longest.passed_over >= PASSED_OVER:
            chosen: Waiter | None = longest
        else:
            chosen = self._first_of(state) or self._first_without_hope(hoped_for) or longest
            if longest is not None and chosen is not longest:
                longest.passed_over += 1
        if chosen is not None:
            self._take_out(chosen)
        return chosen

    def next_for_place(self) -> Waiter | None:
        longest = self._longest()
        if longest is not None:
            self._take_out(longest)
        return longest

    def number(self) -> int:
        return sum(map(len, self._rows.values()))

    def refuse_all(self, error: Callable[[], Exception]) -> None:
        for row in self._rows.values():
            for waiter in row:
                if not waiter.given.done():
                    waiter.given.set_exception(error())

    def _first_of(self, state: str | None) -> Waiter | None:
        # Skip waiters that have expired: each leaves the queue only when the event loop resumes it.
        return next((waiter for waiter in self._rows.get(state or "", ()) if not waiter.given.done()), None)

    def _first_without_hope(self, hoped_for: Callable[[str], bool]) -> Waiter | None:
        looked_at = zip(range(LOOKED_AT), self._order, strict=False)
        return next((each for _, each in looked_at if not hoped_for(each.state) and not each.given.done()), None)

    def _longest(self) -> Waiter | None:
        # A waiter that was served from the queue of its state is still in ``_order``.
        while self._order and self._order[0].given.done():
            self._order.popleft()
        return self._order[0] if self._order else None

    def _leave(self, waiter: Waiter) -> None:
        self._take_out(waiter)
        with suppress(ValueError):
            self._order.remove(waiter)

    def _take_out(self, waiter: Waiter) -> None:
        row = self._rows[waiter.state]
        row.remove(waiter)
        if not row:
            del self._rows[waiter.state]


Unwanted = Callable[[Given, Waiter], None]
