"""Which connection a request gets: one that already shows its rows, where there is one or one comes back soon.

To make another show them costs a round trip, which many a request takes no longer than.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field

from adapters.postgres.connection.connections import ServiceConnection
from domain.errors import ServiceUnavailable

LOOKED_AT = 64
"""How many of those that wait a free connection is offered to."""
PASSED_OVER = 64
"""How often the first of them lets another go before; then it takes what comes."""
SOON = 0.01
"""Seconds for which it pays to wait for one that shows the right rows, while others rest: a turn of a busy loop."""
IDLE_SECONDS = 600.0
MENDED_WITHIN = 5.0

Connect = Callable[[], Awaitable[ServiceConnection]]


@dataclass(eq=False, slots=True)
class _Waiter:
    """It is given a connection, or None with a place to make one."""

    shown: str
    stays: bool
    since: float
    given: "asyncio.Future[ServiceConnection | None]"
    passed_over: int = 0

    def give_up(self) -> None:
        if not self.given.done():
            self.given.set_exception(TimeoutError())


@dataclass(eq=False, slots=True)
class Pool:
    """At most ``size`` connections, made as they are needed; ``patience`` is in seconds, for one and for making one.

    ``_made`` counts all that are open, being made or being mended; ``_lent`` those in use that will show what they were
    taken for, and ``_lent_at`` says when the last of them was. What is idle stands in the order of its return.
    """

    connect: Connect
    size: int
    patience: float
    _made: int = 0
    _idle: list[tuple[ServiceConnection, float]] = field(default_factory=list)
    _lent: Counter[str] = field(default_factory=Counter)
    _lent_at: dict[str, float] = field(default_factory=dict)
    _waiting: deque[_Waiter] = field(default_factory=deque)
    _tasks: "set[asyncio.Task[None]]" = field(default_factory=set)
    _sweeping: asyncio.TimerHandle | None = None
    _hurrying: asyncio.TimerHandle | None = None
    _emptied: "asyncio.Future[None] | None" = None

    async def take(self, shown: str, *, stays: bool) -> ServiceConnection:
        """Raises TimeoutError, or what the attempt to connect raised.

        ``stays`` is false for a transaction: it says what it shows as it begins, and that ends with it.
        """
        if self._emptied is not None:
            raise ServiceUnavailable("The database is being closed.")
        connection = self._showing(shown)
        if connection is None and not (stays and self._comes_soon(shown)):
            connection = self._rested()
        if connection is None:
            return await self._made_or_awaited(shown, stays=stays)
        return self._lend(connection, shown, stays=stays)

    def give(self, connection: ServiceConnection, *, is_certain: bool = True) -> None:
        """Back. What was cut off in the middle proves first that it still answers."""
        self._end_of_loan(connection)
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
            waiter.given.set_result(self._lend(connection, waiter.shown, stays=waiter.stays))
        else:
            self._rest(connection)

    async def close(self) -> None:
        """Returns when all that is in use has come back and is closed."""
        self._emptied = asyncio.get_running_loop().create_future()
        for timer in (self._sweeping, self._hurrying):
            if timer is not None:
                timer.cancel()
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.given.done():
                waiter.given.set_exception(ServiceUnavailable("The database is being closed."))
        idle, self._idle = self._idle, []
        for connection, _ in idle:
            self._begin(self._end(connection))
        if self._made:
            await self._emptied

    def _lend(self, connection: ServiceConnection, shown: str, *, stays: bool) -> ServiceConnection:
        if stays:
            connection.lent_for = shown
            self._lent[shown] += 1
            self._lent_at[shown] = asyncio.get_running_loop().time()
        return connection

    def _comes_soon(self, shown: str) -> bool:
        """Where all that show it are at something long, none does."""
        at = self._lent_at.get(shown)
        return at is not None and at + SOON > asyncio.get_running_loop().time()

    def _end_of_loan(self, connection: ServiceConnection) -> None:
        shown, connection.lent_for = connection.lent_for, None
        if shown is not None:
            self._lent[shown] -= 1
            if not self._lent[shown]:
                del self._lent[shown], self._lent_at[shown]

    def _showing(self, shown: str) -> ServiceConnection | None:
        """The last one used of those that show it."""
        idle = self._idle
        for at in range(len(idle) - 1, -1, -1):
            connection = idle[at][0]
            if connection.shown == shown and not connection.is_closed():
                del idle[at]
                return connection
        return None

    def _rested(self) -> ServiceConnection | None:
        """The one that has rested longest, of those that are not the last to show what they show, if there are any."""
        self._drop_closed()
        if not self._idle:
            return None
        held = Counter(connection.shown for connection, _ in self._idle)
        spare = (
            at
            for at, (connection, _) in enumerate(self._idle)
            if held[connection.shown] > 1 or connection.shown in self._lent
        )
        return self._idle.pop(next(spare, 0))[0]

    def _drop_closed(self) -> None:
        closed = [one for one in self._idle if one[0].is_closed()]
        for one in closed:
            self._idle.remove(one)
            self._forget()

    async def _made_or_awaited(self, shown: str, *, stays: bool) -> ServiceConnection:
        if self._made < self.size and not self._idle:
            self._made += 1
        elif (connection := await self._awaited(shown, stays=stays)) is not None:
            return connection
        async with asyncio.timeout(self.patience):
            return self._lend(await self._new(), shown, stays=stays)

    async def _new(self) -> ServiceConnection:
        """Where its place is counted already."""
        try:
            return await self.connect()
        except BaseException:
            self._forget()
            raise

    async def _awaited(self, shown: str, *, stays: bool) -> ServiceConnection | None:
        loop = asyncio.get_running_loop()
        waiter = _Waiter(shown, stays, loop.time(), loop.create_future())
        patience = loop.call_later(self.patience, waiter.give_up)
        self._waiting.append(waiter)
        self._hurry_soon()
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
        """The first that waits for what the connection shows; else the first that can hope for no other one soon."""
        waiting = self._waiting
        while waiting and waiting[0].given.done():
            waiting.popleft()
        if not waiting:
            return None
        if waiting[0].passed_over >= PASSED_OVER:
            return waiting.popleft()
        looked_at = [(at, one) for at, one in zip(range(LOOKED_AT), waiting, strict=False) if not one.given.done()]
        for at, waiter in looked_at:
            if waiter.shown == shown:
                waiting[0].passed_over += at > 0
                del waiting[at]
                return waiter
        hopeless = next((one for _, one in looked_at if not (one.stays and self._comes_soon(one.shown))), None)
        if hopeless is not None:
            waiting.remove(hopeless)
        return hopeless

    def _hurry_soon(self) -> None:
        if self._hurrying is None and self._idle and self._waiting:
            self._hurrying = asyncio.get_running_loop().call_at(self._waiting[0].since + SOON, self._hurry)

    def _hurry(self) -> None:
        """Who has waited long enough takes one that rests; or, where others took all that did, may make another."""
        self._hurrying = None
        waiting, now = self._waiting, asyncio.get_running_loop().time()
        while waiting and (waiting[0].given.done() or waiting[0].since + SOON <= now):
            waiter = waiting.popleft()
            if waiter.given.done():
                continue
            connection = self._showing(waiter.shown) or self._rested()
            if connection is not None:
                waiter.given.set_result(self._lend(connection, waiter.shown, stays=waiter.stays))
            elif self._made < self.size:
                self._made += 1
                waiter.given.set_result(None)
            else:
                waiting.appendleft(waiter)
                return
        self._hurry_soon()

    def _forget(self) -> None:
        """One less; who waits may make another."""
        self._made -= 1
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.given.done():
                self._made += 1
                waiter.given.set_result(None)
                break
        if self._emptied is not None and not self._made and not self._emptied.done():
            self._emptied.set_result(None)

    def _rest(self, connection: ServiceConnection) -> None:
        loop = asyncio.get_running_loop()
        self._idle.append((connection, loop.time()))
        if self._sweeping is None:
            self._sweeping = loop.call_later(IDLE_SECONDS, self._sweep)
        self._hurry_soon()

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
