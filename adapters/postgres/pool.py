"""Which connection a request gets: one that already shows its rows, where there is one."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field

from adapters.postgres.connections import ServiceConnection
from domain.errors import ServiceUnavailable

LOOKED_AT = 32
"""How many of those that wait a free connection is offered to, before the first takes it as it is."""
PASSED_OVER = 8
"""How often the first of them lets another go before."""
IDLE_SECONDS = 600.0
MENDED_WITHIN = 5.0

Connect = Callable[[], Awaitable[ServiceConnection]]


@dataclass(eq=False, slots=True)
class _Waiter:
    """It is given a connection, or None with a place to make one."""

    shown: str
    given: "asyncio.Future[ServiceConnection | None]"
    passed_over: int = 0

    def give_up(self) -> None:
        if not self.given.done():
            self.given.set_exception(TimeoutError())


@dataclass(eq=False, slots=True)
class Pool:
    """At most ``size`` connections, made as they are needed; ``patience`` is in seconds, for one and for making one.

    ``_made`` counts all that are open, being made or being mended. What is idle stands in the order of its return.
    """

    connect: Connect
    size: int
    patience: float
    _made: int = 0
    _idle: list[tuple[ServiceConnection, float]] = field(default_factory=list)
    _waiting: deque[_Waiter] = field(default_factory=deque)
    _tasks: "set[asyncio.Task[None]]" = field(default_factory=set)
    _sweeping: asyncio.TimerHandle | None = None
    _emptied: "asyncio.Future[None] | None" = None

    async def take(self, shown: str) -> ServiceConnection:
        """Raises TimeoutError, or what the attempt to connect raised."""
        if self._emptied is not None:
            raise ServiceUnavailable("The database is being closed.")
        return self._picked(shown) or await self._made_or_awaited(shown)

    def give(self, connection: ServiceConnection, *, is_certain: bool = True) -> None:
        """Back. What was cut off in the middle proves first that it still answers."""
        if connection.is_closed():
            self._forget()
        elif not is_certain:
            self._begin(self._mend(connection))
        elif self._emptied is not None:
            self._begin(self._end(connection))
        elif connection.is_in_transaction():
            connection.terminate()
            self._forget()
        elif (waiter := self._next(connection.shown)) is not None:
            waiter.given.set_result(connection)
        else:
            self._rest(connection)

    async def close(self) -> None:
        """Returns when all that is in use has come back and is closed."""
        self._emptied = asyncio.get_running_loop().create_future()
        if self._sweeping is not None:
            self._sweeping.cancel()
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.given.done():
                waiter.given.set_exception(ServiceUnavailable("The database is being closed."))
        idle, self._idle = self._idle, []
        for connection, _ in idle:
            self._begin(self._end(connection))
        if self._made:
            await self._emptied

    def _picked(self, shown: str) -> ServiceConnection | None:
        """One that shows it, the last one used; else, once there are enough, the one that has rested longest."""
        idle = self._idle
        for at in range(len(idle) - 1, -1, -1):
            connection = idle[at][0]
            if connection.shown == shown and not connection.is_closed():
                del idle[at]
                return connection
        while idle:
            connection = idle.pop(0)[0]
            if not connection.is_closed():
                return connection
            self._forget()
        return None

    async def _made_or_awaited(self, shown: str) -> ServiceConnection:
        if self._made < self.size:
            self._made += 1
        elif (connection := await self._awaited(shown)) is not None:
            return connection
        async with asyncio.timeout(self.patience):
            return await self._new()

    async def _new(self) -> ServiceConnection:
        """Where its place is counted already."""
        try:
            return await self.connect()
        except BaseException:
            self._forget()
            raise

    async def _awaited(self, shown: str) -> ServiceConnection | None:
        loop = asyncio.get_running_loop()
        waiter = _Waiter(shown, loop.create_future())
        patience = loop.call_later(self.patience, waiter.give_up)
        self._waiting.append(waiter)
        try:
            return await waiter.given
        except BaseException:
            self._leave(waiter)
            raise
        finally:
            patience.cancel()

    def _leave(self, waiter: _Waiter) -> None:
        """Given something in the moment in which it gave up, it passes it on."""
        with suppress(ValueError):
            self._waiting.remove(waiter)
        given = waiter.given
        if not given.done() or given.cancelled() or given.exception() is not None:
            return
        connection = given.result()
        if connection is None:
            self._forget()
        else:
            self.give(connection)

    def _next(self, shown: str | None) -> _Waiter | None:
        """The first that waits for what the connection shows, unless that has gone on for too long."""
        waiting = self._waiting
        while waiting and waiting[0].given.done():
            waiting.popleft()
        if not waiting:
            return None
        if waiting[0].passed_over < PASSED_OVER:
            for at, waiter in zip(range(LOOKED_AT), waiting, strict=False):
                if waiter.shown == shown and not waiter.given.done():
                    waiting[0].passed_over += at > 0
                    del waiting[at]
                    return waiter
        return waiting.popleft()

    def _forget(self) -> None:
        """One less; who waits may make another."""
        self._made -= 1
        waiter = self._next(None)
        if waiter is not None:
            self._made += 1
            waiter.given.set_result(None)
        if self._emptied is not None and not self._made and not self._emptied.done():
            self._emptied.set_result(None)

    def _rest(self, connection: ServiceConnection) -> None:
        loop = asyncio.get_running_loop()
        self._idle.append((connection, loop.time()))
        if self._sweeping is None:
            self._sweeping = loop.call_later(IDLE_SECONDS, self._sweep)

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        while self._idle and self._idle[0][1] <= loop.time() - IDLE_SECONDS:
            self._begin(self._end(self._idle.pop(0)[0]))
        self._sweeping = loop.call_later(IDLE_SECONDS / 4, self._sweep) if self._idle else None

    async def _mend(self, connection: ServiceConnection) -> None:
        """A statement that was cut off is being cancelled; the next one waits for that."""
        try:
            async with asyncio.timeout(MENDED_WITHIN):
                await connection.fetchval("SELECT 1")
        except BaseException:  # noqa: BLE001  # whatever it was, nobody will use it again
            connection.terminate()
        self.give(connection)

    async def _end(self, connection: ServiceConnection) -> None:
        try:
            await connection.close(timeout=MENDED_WITHIN)
        except Exception:  # noqa: BLE001  # it is gone, one way or the other
            connection.terminate()
        self._forget()

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
