"""ScopeShares: the number of a pool's connections that one scope may hold at a time."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from adapters.postgres.connection.connections import id_text
from adapters.postgres.connection.waiting import PoolBusy
from adapters.postgres.schema.row_security import EVERY
from application.ports.database import ASKED_BY


class ScopeBusy(PoolBusy):
    """Raised if a scope uses its whole share of the connections. The database and its pool may work well."""


BEHIND_THE_FREE = 3
"""Connections that a scope may hold per free connection: three quarters of all if no other scope holds any."""


@dataclass(eq=False, slots=True)
class ScopeShares:
    """Counts the connections of each scope; requests beyond a scope's share wait.

    Otherwise a tenant with slow or blocked statements would hold all connections of a process, and other tenants would
    wait. A scope may hold three times as many connections as are free, and at least one: of 20 connections, a single
    scope gets 15, two scopes get 9 each, three get 6 each. ``share_of`` names the scope of a session.
    """

    connections: int
    _total: int = 0
    _held: dict[str, int] = field(default_factory=dict)
    _waiting: dict[str, deque["asyncio.Future[None]"]] = field(default_factory=dict)

    def is_taken(self, scope: str) -> bool:
        """Reserve a place for the scope; return False if it has to wait."""
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
        """Wait for a place released by another request. Raises ScopeBusy."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        row = self._waiting.setdefault(scope, deque())
        row.append(turn)
        patience = loop.call_later(seconds, _give_up, turn)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.give_back(scope)  # granted at the moment of the cancellation
            elif turn in row:
                row.remove(turn)
            raise
        finally:
            patience.cancel()
            if not row and self._waiting.get(scope) is row:
                del self._waiting[scope]
            # Break the reference cycle between error, frame and future.
            del turn, patience

    def give_back(self, scope: str) -> None:
        """Release the place to the scope's longest-waiting request, or to another scope with fewer places."""
        self._total -= 1
        held = self._held.pop(scope) - 1
        if held:
            self._held[scope] = held
        # Prefer the same scope, because the connection is already set to it. Other scopes MUST NOT use the last free
        # connection.
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
        """Return the number of waiting requests."""
        return sum(map(len, self._waiting.values()))


def share_of(state: str) -> str:
    """Return the scope in a ``session_key`` state, without the mode.

    Work on all tenants counts for the caller's tenant, if any, so that logins do not wait for administration.
    """
    scope = state.partition(" ")[0]
    asked_by = ASKED_BY.get() if scope == EVERY else None
    return scope if asked_by is None else id_text(asked_by)


def _give_up(turn: "asyncio.Future[None]") -> None:
    if not turn.done():
        turn.set_exception(ScopeBusy())
