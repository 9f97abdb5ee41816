"""Positions in the primary's write-ahead log; a write requests one after its commit."""

import asyncio
from collections import deque
from contextlib import suppress

import asyncpg

from adapters.postgres.connection.connecting import connect
from adapters.postgres.connection.failures import translated
from adapters.postgres.connection.poolers import Route
from application.ports.replicas import Position
from domain.errors import ServiceUnavailable

PATIENCE = 1.0
"""Seconds for a connection and for a statement."""
KEPT_EVERY, KEPT_FOR = 0.05, 10.0
"""Seconds between two cached samples, and seconds until a sample is dropped."""
REFRESHED_EVERY = 0.1
PAGE, PAGE_HEADER = 8192, 24

# The first eight digits of a log file name are its timeline.
_ASKED = """
SELECT left(pg_walfile_name(at), 8) AS timeline, (at - '0/0'::pg_lsn)::bigint AS reached
FROM pg_current_wal_insert_lsn() AS at"""


class PrimaryLog:
    """Log positions from one statement on a separate connection, for all waiting requests.

    So a write needs no statement on its own connection, and concurrent writes share one statement. The log has a
    commit's record before the connection reports the commit, so any later insert position is at or after the commit.
    """

    def __init__(self, url: str, pooler: Route = "none") -> None:
        self._url, self._pooler = url, pooler
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None
        self._asking: deque[asyncio.Future[Position]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._samples: deque[tuple[float, Position]] = deque()
        self._sampled_at = 0.0

    async def position(self) -> Position:
        """Return a position not before any commit that ended before the call. Raises ServiceUnavailable."""
        loop = asyncio.get_running_loop()
        asked: asyncio.Future[Position] = loop.create_future()
        self._asking.append(asked)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._answer())
        return await asked

    @property
    def timeline(self) -> int:
        """Timeline of the last sample, 0 before the first."""
        return self._samples[-1][1].timeline if self._samples else 0

    def refresh(self) -> None:
        """Request a sample in the background, unless a recent one exists."""
        loop = asyncio.get_running_loop()
        is_asking = self._task is not None and not self._task.done()
        if not is_asking and loop.time() >= self._sampled_at + REFRESHED_EVERY:
            self._task = loop.create_task(self._answer())
            asked: asyncio.Future[Position] = loop.create_future()
            asked.add_done_callback(lambda answered: answered.exception())
            self._asking.append(asked)

    def is_known_for(self, seconds: float) -> bool:
        """Return whether the oldest cached sample is older than ``seconds``."""
        return bool(self._samples) and self._samples[0][0] < asyncio.get_running_loop().time() - seconds

    def seen_before(self, position: Position) -> float | None:
        """Return the time, by the loop's clock, of the newest sample at or before the position."""
        return next((at for at, sample in reversed(self._samples) if sample <= position), None)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if self._connection is not None:
            self._connection.terminate()

    async def _answer(self) -> None:
        # A write that requests a position during a running statement may have committed after it, so it waits for the
        # next statement.
        while self._asking:
            asked, self._asking = self._asking, deque()
            position: Position | None = None
            try:
                with suppress(ServiceUnavailable):
                    position = await self._sample()
            finally:
                for waiting in asked:
                    _settle(waiting, position)

    async def _sample(self) -> Position:
        sent = self._sampled_at = asyncio.get_running_loop().time()
        try:
            with translated(self._connection):
                row = await (await self._open()).fetchrow(_ASKED)
        except (asyncpg.PostgresError, ServiceUnavailable) as error:
            # The server may not be the primary any more; reconnecting finds the current one.
            if self._connection is not None:
                self._connection.terminate()
            raise ServiceUnavailable from error
        assert row is not None
        position = Position(int(row["timeline"], 16), replayable(row["reached"]))
        self._keep(sent, position)
        return position

    def _keep(self, sent: float, position: Position) -> None:
        samples = self._samples
        if samples and position.timeline != samples[-1][1].timeline:
            samples.clear()
        if not samples or sent - samples[-1][0] >= KEPT_EVERY:
            samples.append((sent, position))
        while samples[0][0] < sent - KEPT_FOR:
            samples.popleft()

    async def _open(self) -> "asyncpg.Connection[asyncpg.Record]":
        if self._connection is None or self._connection.is_closed():
            self._connection = await connect(
                self._url,
                pooler=self._pooler,
                timeout=PATIENCE,
                command_timeout=PATIENCE,
                server_settings={"application_name": "tenantry positions"},
            )
        return self._connection


def _settle(waiting: "asyncio.Future[Position]", position: Position | None) -> None:
    if waiting.done():  # the request was cancelled
        return
    if position is None:
        waiting.set_exception(ServiceUnavailable())
    else:
        waiting.set_result(position)


def replayable(reached: int) -> int:
    """Return the insert position of a replica that has replayed the whole log.

    If a record ends at the end of its page, the insert position is behind the next page's header, although that page is
    still empty.
    """
    return reached - PAGE_HEADER if reached % PAGE == PAGE_HEADER else reached
