"""TenantShares: how many of a pool's connections the requests of one tenant may hold at a time."""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from adapters.postgres.connection.waiting import PoolBusy
from adapters.postgres.schema.row_security import EVERY


def largest_share(connections: int) -> int:
    """Connections that one tenant may hold of so many: a quarter stays for others, if there are four."""
    return connections - connections // 4


@dataclass(eq=False, slots=True)
class TenantShares:
    """Counts the connections of each tenant, and lets its requests beyond ``most`` wait for each other.

    Without it a tenant whose statements wait for a lock, or read for seconds, would hold all connections of a process,
    and the others would wait for that tenant. Work that is no tenant's own (``EVERY``) is not counted.
    """

    most: int
    _held: dict[str, int] = field(default_factory=dict)
    _waiting: dict[str, deque["asyncio.Future[None]"]] = field(default_factory=dict)

    def is_taken(self, state: str) -> bool:
        """Takes a place for the tenant of this session state; False where it has to wait for its turn."""
        tenant = _tenant(state)
        if tenant == EVERY:
            return True
        held = self._held.get(tenant, 0)
        if held >= self.most:
            return False
        self._held[tenant] = held + 1
        return True

    async def turn(self, state: str, seconds: float) -> None:
        """Waits for a place that another request of the tenant gives back. Raises PoolBusy."""
        tenant, loop = _tenant(state), asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        row = self._waiting.setdefault(tenant, deque())
        row.append(turn)
        patience = loop.call_later(seconds, _give_up, turn)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.give_back(state)  # it came in the moment in which the request was cancelled
            elif turn in row:
                row.remove(turn)
            raise
        finally:
            patience.cancel()
            if not row and self._waiting.get(tenant) is row:
                del self._waiting[tenant]
            # The error knows this frame, and the future knows the error: a circle that memory would keep for a while.
            del turn, patience

    def give_back(self, state: str) -> None:
        """Hands the place to the request of the tenant that has waited longest, if there is one."""
        tenant = _tenant(state)
        if tenant == EVERY:
            return
        row = self._waiting.get(tenant)
        while row:
            turn = row.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        held = self._held.pop(tenant)
        if held > 1:
            self._held[tenant] = held - 1

    def number(self) -> int:
        """Requests that wait for their turn."""
        return sum(map(len, self._waiting.values()))


def _tenant(state: str) -> str:
    """The scope in a session state, as ``session_key`` makes it, whatever the mode."""
    return state.partition(" ")[0]


def _give_up(turn: "asyncio.Future[None]") -> None:
    if not turn.done():
        turn.set_exception(PoolBusy())
