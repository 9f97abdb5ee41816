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


def largest_share(connections: int) -> int:
    """Connections that one scope may hold of so many: a quarter stays for others, if there are four."""
    return connections - connections // 4


@dataclass(eq=False, slots=True)
class ScopeShares:
    """Counts the connections of each scope, and lets its requests beyond ``most`` wait for each other.

    Without it a tenant whose statements wait for a lock, or read for seconds, would hold all connections of a process,
    and the others would wait for that tenant. ``share_of`` names the scope of a session.
    """

    most: int
    _held: dict[str, int] = field(default_factory=dict)
    _waiting: dict[str, deque["asyncio.Future[None]"]] = field(default_factory=dict)

    def is_taken(self, scope: str) -> bool:
        """Takes a place for the scope; False where it has to wait for its turn."""
        held = self._held.get(scope, 0)
        if held >= self.most:
            return False
        self._held[scope] = held + 1
        return True

    async def turn(self, scope: str, seconds: float) -> None:
        """Waits for a place that another request of the scope gives back. Raises ScopeBusy."""
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
        """Hands the place to the request of the scope that has waited longest, if there is one."""
        row = self._waiting.get(scope)
        while row:
            turn = row.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        held = self._held.pop(scope)
        if held > 1:
            self._held[scope] = held - 1

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
