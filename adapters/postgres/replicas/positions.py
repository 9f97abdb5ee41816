"""Positions in the write-ahead log of the primary, for writes that ask after their commit."""

import asyncio
from collections import deque
from contextlib import suppress

import asyncpg

from adapters.postgres.connection.connecting import connect
from adapters.postgres.connection.failures import translated
from adapters.postgres.connection.poolers import Pooler
from application.ports.replicas import Position
from domain.errors import ServiceUnavailable

PATIENCE = 1.0
"""Seconds for a connection and for a statement."""
KEPT_EVERY, KEPT_FOR = 0.05, 10.0
"""Seconds between the samples that are remembered, and for how long."""
REFRESHED_EVERY = 0.1
PAGE, PAGE_HEADER = 8192, 24

# The first eight digits of a log file's name are its timeline.
_ASKED = """
SELECT left(pg_walfile_name(at), 8) AS timeline, (at - '0/0'::pg_lsn)::bigint AS reached
FROM pg_current_wal_insert_lsn() AS at"""


class PrimaryLog:
    """Positions by one statement on a connection of its own, which answers all who asked before it was sent.

    So a write costs no statement on its own connection, and many writes at once share one. A commit's record is in the
    log before its connection hears of it, so that the insert position of any later moment lies at or behind it.
    """

    def __init__(self, url: str, pooler: Pooler = "none") -> None:
        self._url, self._pooler = url, pooler
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None
        self._asking: deque[asyncio.Future[Position]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._samples: deque[tuple[float, Position]] = deque()
        self._sampled_at = 0.0

    async def position(self) -> Position:
        """Position at or behind every commit that ended before the call. Raises ServiceUnavailable."""
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
        """Asks for a sample that nobody waits for, unless there was one a moment ago."""
        loop = asyncio.get_running_loop()
        is_asking = self._task is not None and not self._task.done()
        if not is_asking and loop.time() >= self._sampled_at + REFRESHED_EVERY:
            self._task = loop.create_task(self._answer())
            asked: asyncio.Future[Position] = loop.create_future()
            asked.add_done_callback(lambda answered: answered.exception())
            self._asking.append(asked)

    def is_known_for(self, seconds: float) -> bool:
        """Whether the oldest sample that is remembered is older."""
        return bool(self._samples) and self._samples[0][0] < asyncio.get_running_loop().time() - seconds

    def seen_before(self, position: Position) -> float | None:
        """The latest moment, by the loop's clock, before which nothing was committed behind the position."""
        return next((at for at, sample in reversed(self._samples) if sample <= position), None)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if self._connection is not None:
            self._connection.terminate()

    async def _answer(self) -> None:
        # Whoever asks while a statement is under way may have committed after it was sent, and waits for the next.
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
            # Perhaps it is no primary any more: the next attempt looks for the one that is.
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
    if waiting.done():  # whoever asked has left
        return
    if position is None:
        waiting.set_exception(ServiceUnavailable())
    else:
        waiting.set_result(position)


def replayable(reached: int) -> int:
    """The insert position where a replica that has replayed everything stands.

    A record that ends with its page leaves the insert position behind the next page's header, where nothing is yet.
    """
    return reached - PAGE_HEADER if reached % PAGE == PAGE_HEADER else reached
