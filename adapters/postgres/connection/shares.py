"""ScopeShares: how many of a pool's connections the requests of one scope may hold at a time."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from adapters.postgres.connection.connections import id_text
from adapters.postgres.connection.waiting import PoolBusy
from adapters.postgres.schema.row_security import EVERY
from application.ports.database import ASKED_BY


class ScopeBusy(PoolBusy):
    """Raised where a scope has its share of the connections in use: the database, and its pool, may be well."""


BEHIND_THE_FREE = 3
"""Connections that a scope may hold for each one that is free: three quarters of all, where no other holds any."""


@dataclass(eq=False, slots=True)
class ScopeShares:
    """Counts the connections of each scope, and lets its requests beyond its share wait for each other.

    Without it a tenant whose statements wait for a lock, or read for seconds, would hold all connections of a process,
    and the others would wait for that tenant. A scope may hold three times as many as are free, and one in any case: of
    20 connections one scope has 15, two have 9 each, three 6 each. ``share_of`` names the scope of a session.
    """

    connections: int
    _total: int = 0
    _held: dict[str, int] = field(default_factory=dict)
    _waiting: dict[str, deque["asyncio.Future[None]"]] = field(default_factory=dict)

    def is_taken(self, scope: str) -> bool:
        """Takes a place for the scope; False where it has to wait for its turn."""
        if not self._may_take(scope):
            return False
        self._take(scope)
        return True

    def _may_take(self, scope: str) -> bool:
        return self._held.get(scope, 0) < max(1, BEHIND_THE_FREE * (self.connections - self._total))

    def _take(self, scope: str) -> None:
        self._held[scope] = self._held.get(scope, 0) + 1
        self._total += 1

    async def turn(self, scope: str, seconds: float) -> None:
        """Waits for a place that another request gives back. Raises ScopeBusy."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        row = self._waiting.setdefault(scope, deque())
        row.append(turn)
        patience = loop.call_later(seconds, _give_up, turn)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.give_back(scope)  # it came in the moment in which the request was cancelled
            elif turn in row:
                row.remove(turn)
            raise
        finally:
            patience.cancel()
            if not row and self._waiting.get(scope) is row:
                del self._waiting[scope]
            # The error knows this frame, and the future knows the error: a circle that memory would keep for a while.
            del turn, patience

    def give_back(self, scope: str) -> None:
        """Hands the place to the request of the scope that has waited longest, or to one of a scope with fewer."""
        self._total -= 1
        held = self._held.pop(scope) - 1
        if held:
            self._held[scope] = held
        # Its own first: the connection shows the rows of this scope. Of the others none may take the last free one.
        if self._hand_to(scope) or self._total >= self.connections:
            return
        for other in self._waiting:
            if self._hand_to(other):
                return

    def _hand_to(self, scope: str) -> bool:
        row = self._waiting.get(scope)
        while row and self._may_take(scope):
            turn = row.popleft()
            if not turn.done():
                self._take(scope)
                turn.set_result(None)
                return True
        return False

    def refuse_all(self, error: Callable[[], Exception]) -> None:
        for row in self._waiting.values():
            for turn in row:
                if not turn.done():
                    turn.set_exception(error())

    def number(self) -> int:
        """Requests that wait for their turn."""
        return sum(map(len, self._waiting.values()))


def share_of(state: str) -> str:
    """The scope in a session state, as ``session_key`` makes it, whatever the mode.

    Work on all tenants is that of the caller's tenant, where there is a caller: logins do not wait for administration.
    """
    scope = state.partition(" ")[0]
    asked_by = ASKED_BY.get() if scope == EVERY else None
    return scope if asked_by is None else id_text(asked_by)


def _give_up(turn: "asyncio.Future[None]") -> None:
    if not turn.done():
        turn.set_exception(ScopeBusy())
