"""TenantPool: asyncpg's pool, with a choice of connections by session state.

A connection with another tenant's state costs one more round trip, so a request first looks for a connection with its
own state. asyncpg's pool opens, repairs and closes the connections.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

import asyncpg

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.connection.shares import ScopeShares
from adapters.postgres.connection.waiting import Given, Waiter, WaitingRequests
from application.ports.load import PoolLoad
from domain.errors import ServiceUnavailable

if TYPE_CHECKING:
    AsyncpgPool = asyncpg.Pool[asyncpg.Record]
else:  # generic only in the stubs
    AsyncpgPool = asyncpg.Pool

Result = TypeVar("Result")

SOON = 0.01
"""Seconds to wait for a connection in the same session state: one iteration of a busy event loop."""
RESTS = 60.0
"""Seconds after which an unused connection returns to asyncpg's pool. That pool closes it after ``CLOSED_AFTER``."""
CLOSED_AFTER = 540.0
CLOSING = "The database is being closed."


def nothing() -> None:
    """Do nothing: callback for a lost connection."""


@dataclass(eq=False, slots=True)
class TenantPool:
    """A pool of at most ``pool.get_max_size()`` connections, which prefers one in the wanted session state.

    ``patience`` is the maximum wait in seconds, for a free connection and for a new one; ``mended_within`` is the time
    for a connection to recover after an interrupted statement.

    ``shares`` limits the connections of a scope. ``pool`` has no other users, so acquiring never waits. ``_held``
    counts connections that are acquired, in acquisition or in release. ``_lent`` counts, by session state, the used
    connections that will return with this state; ``_lent_at`` is the time of the last such loan. ``_resting`` is in the
    order of return.
    """

    pool: AsyncpgPool
    patience: float
    mended_within: float
    rests: float = RESTS
    shares: ScopeShares = field(init=False)
    _held: int = 0
    _resting: list[tuple[ServiceConnection, float]] = field(default_factory=list)
    _lent: Counter[str] = field(default_factory=Counter)
    _lent_at: dict[str, float] = field(default_factory=dict)
    _waiting: WaitingRequests = field(default_factory=WaitingRequests)
    _tasks: "set[asyncio.Task[Any]]" = field(default_factory=set)
    _sweeping: asyncio.TimerHandle | None = None
    _is_closing: bool = False

    def __post_init__(self) -> None:
        self.shares = ScopeShares(self.pool.get_max_size())

    async def take(self, state: str, seconds: float, *, stays: bool) -> ServiceConnection:
        """Return a connection for ``state``. Raises TimeoutError after ``seconds``, or the error of connecting.

        ``stays`` is false for a transaction, because the session's state ends with the transaction.
        """
        if self._is_closing:
            raise ServiceUnavailable(CLOSING)
        # In the order of cost: free, a turn of the event loop, a round trip, a connection.
        connection = self._rested_with(state)
        if connection is None and stays and self._comes_soon(state):
            with suppress(TimeoutError):
                return cast("ServiceConnection", await self._given(state, SOON, stays=True, takes_any=False))
        connection = connection or self._rested_longest()
        if connection is not None:
            self._lend(state, stays=stays)
            return connection
        if self._held < self.pool.get_max_size():
            self._held += 1
        elif (connection := await self._given(state, seconds, stays=stays, takes_any=True)) is not None:
            return connection
        return await self._acquired(state, stays=stays)

    def give(
        self, connection: ServiceConnection, state: str, *, stays: bool, cut_off: Callable[[], None] | None = None
    ) -> None:
        """Return to the pool a connection obtained with the same ``state`` and ``stays``.

        asyncpg repairs a connection after an interrupted statement before its next use. If the server does not confirm
        the statement's end, the pool calls ``cut_off``.
        """
        if stays:
            self._end_loan(state)
        self._place(connection, cut_off)

    def _place(self, connection: ServiceConnection, cut_off: Callable[[], None] | None = None) -> None:
        """Lend the connection to a waiting request, retain it, or return it to asyncpg."""
        if self._is_closing or cut_off is not None or connection.is_closed() or connection.is_spoilt:
            self._begin(self._release(connection, cut_off or nothing))
        elif connection.is_in_transaction():  # somebody has left it open
            connection.terminate()
            self._begin(self._release(connection))
        elif waiter := self._waiting.next_for(connection.session_state, hoped_for=self._lent.__contains__):
            self._lend(waiter.state, stays=waiter.stays)
            waiter.given.set_result(connection)
        else:
            self._rest(connection)

    async def close(self) -> None:
        """Refuse waiting requests; wait until all used connections are returned and closed."""
        self._is_closing = True
        if self._sweeping is not None:
            self._sweeping.cancel()
        for waiting in (self._waiting, self.shares):
            waiting.refuse_all(lambda: ServiceUnavailable(CLOSING))
        while self._resting:
            self._begin(self._release(self._resting.pop()[0]))
        await self.pool.close()

    def load(self) -> PoolLoad:
        idle = len(self._resting)
        waiting = self._waiting.number() + self.shares.number()
        return PoolLoad(in_use=self._held - idle, idle=idle, most=self.pool.get_max_size(), waiting=waiting)

    def _comes_soon(self, state: str) -> bool:
        # Wait only for a recent loan: a longer loan may be an export.
        at = self._lent_at.get(state)
        return at is not None and at + SOON > asyncio.get_running_loop().time()

    def _lend(self, state: str, *, stays: bool) -> None:
        if stays:
            self._lent[state] += 1
            self._lent_at[state] = asyncio.get_running_loop().time()

    def _end_loan(self, state: str) -> None:
        self._lent[state] -= 1
        if not self._lent[state]:
            del self._lent[state], self._lent_at[state]

    def _rested_with(self, state: str) -> ServiceConnection | None:
        resting = self._resting
        for at in range(len(resting) - 1, -1, -1):
            connection = resting[at][0]
            if connection.session_state == state and not connection.is_closed():
                del resting[at]
                return connection
        return None

    def _rested_longest(self) -> ServiceConnection | None:
        """Return the connection that has been idle for longest, if possible not the last connection of its state."""
        self._drop_closed()
        if not self._resting:
            return None
        # Prefer a state with several connections. Without its last connection, a state's next request needs a round
        # trip.
        states = [connection.session_state for connection, _ in self._resting]
        held = Counter(states)
        spare = (at for at, state in enumerate(states) if held[state] > 1 or state in self._lent)
        return self._resting.pop(next(spare, 0))[0]

    def _drop_closed(self) -> None:
        closed = [entry for entry in self._resting if entry[0].is_closed()]
        for entry in closed:
            self._resting.remove(entry)
            self._begin(self._release(entry[0]))

    async def _acquired(self, state: str, *, stays: bool) -> ServiceConnection:
        """Return a connection from asyncpg's pool. ``_held`` already includes it."""
        acquiring = self._begin(self._acquire())
        try:
            connection = await asyncio.shield(acquiring)
        except asyncio.CancelledError:
            # An abandoned attempt would leave an unread error. A completed one serves the next request.
            acquiring.add_done_callback(self._keep)
            raise
        self._lend(state, stays=stays)
        return connection

    async def _acquire(self) -> ServiceConnection:
        try:
            proxy = await self.pool.acquire(timeout=self.patience)
        except BaseException:
            self._free_place()
            raise
        connection = cast("ServiceConnection", proxy).unwrapped
        connection.lease = proxy
        return connection

    def _keep(self, acquired: "asyncio.Task[ServiceConnection]") -> None:
        if not acquired.cancelled() and acquired.exception() is None:
            self._place(acquired.result())

    async def _given(self, state: str, seconds: float, *, stays: bool, takes_any: bool) -> Given:
        return await self._waiting.wait(state, seconds, stays=stays, takes_any=takes_any, unwanted=self._pass_on)

    def _pass_on(self, given: Given, waiter: Waiter) -> None:
        if given is None:
            self._free_place()
        else:
            self.give(given, waiter.state, stays=waiter.stays)

    def _free_place(self) -> None:
        waiter = self._waiting.next_for_place()
        if waiter is None:
            self._held -= 1
        else:
            waiter.given.set_result(None)

    def _rest(self, connection: ServiceConnection) -> None:
        loop = asyncio.get_running_loop()
        self._resting.append((connection, loop.time()))
        if self._sweeping is None:
            self._sweeping = loop.call_later(self.rests, self._sweep)

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        while self._resting and self._resting[0][1] <= loop.time() - self.rests:
            self._begin(self._release(self._resting.pop(0)[0]))
        self._sweeping = loop.call_later(self.rests / 4, self._sweep) if self._resting else None

    async def _release(self, connection: ServiceConnection, if_lost: Callable[[], None] = nothing) -> None:
        """Return it to asyncpg, which waits for cancelled statements, or close it."""
        lease, connection.lease = connection.lease, None
        try:
            if connection.is_spoilt and not connection.is_closed():
                async with asyncio.timeout(self.mended_within):
                    await connection.close(timeout=self.mended_within)
            await self.pool.release(lease, timeout=self.mended_within)  # type: ignore[arg-type]
        except Exception:  # noqa: BLE001  # asyncpg has closed it then, and its place is free
            if_lost()
            await self._end_unused()
        finally:
            self._free_place()

    async def _end_unused(self) -> None:
        """Close idle connections: a vanished server does not, and each would delay a request."""
        await self.pool.expire_connections()
        while self._resting:
            connection, _ = self._resting.pop()
            connection.terminate()
            self._begin(self._release(connection))

    def _begin(self, work: Coroutine[None, None, Result]) -> "asyncio.Task[Result]":
        # The event loop references tasks weakly; without this reference, a task could vanish.
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def synchronized(connection: object) -> None:
    """Act as ``reset`` of the driver's pool, for interrupted or idle connections.

    Only a session's scope and mode ever change; they remain.
    """
    await cast("ServiceConnection", connection).synchronize()
