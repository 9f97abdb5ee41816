"""Replica: a standby server, sampled while it is in use."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import asyncpg

from adapters.postgres.connection.connecting import connect
from adapters.postgres.connection.failures import translated
from adapters.postgres.connection.shares import ScopeBusy
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.replicas.positions import PrimaryLog
from application.ports.replicas import Position
from domain.errors import ServiceUnavailable

log = logging.getLogger(__name__)

EVERY = 0.02
"""Seconds between two samples of a replica in use."""
IDLE_AFTER = 2.0
"""Seconds between two samples."""
MOST_LAG = 5.0
"""Maximum lag, in seconds, of a replica that serves reads."""
SAMPLE_LIVES = 0.5
"""Seconds for which a sample is valid; a server that answers later leaves the rotation until it answers."""
RESTS = 1.0
"""Seconds without reads after a failed one, and between attempts to reach an unavailable server."""

TIMELINE_EVERY = 1.0
"""Seconds between two timeline queries; each costs the server ten times as much as a sample."""

_ASKED = """
SELECT pg_is_in_recovery() AS is_standby, coalesce(pg_last_wal_replay_lsn() - '0/0'::pg_lsn, 0)::bigint AS replayed"""
# The newest timeline of the last restart point, of the minimum consistency point and, if the role may read it, of the
# WAL stream. A server that did not follow a promotion never reports the new timeline.
_TIMELINE = """
SELECT greatest((SELECT timeline_id FROM pg_control_checkpoint()),
    (SELECT min_recovery_end_timeline FROM pg_control_recovery()), (SELECT received_tli FROM pg_stat_wal_receiver))"""


@dataclass(eq=False)
class Replica:
    """A standby server that answers reads, sampled while it is in use.

    ``name`` is host and port, for logs. ``lag`` is in seconds, None if unknown; ``answered`` counts reads.
    """

    name: str
    database: PostgresDatabase
    primary: PrimaryLog
    lag: float | None = None
    is_in_rotation: bool = False
    answered: int = 0
    _timeline: int = 0
    _timeline_asked_at: float = 0.0
    _position: Position | None = None
    _sampled_at: float = 0.0
    _used_at: float = 0.0
    _rests_until: float = 0.0
    _left: str = ""
    _connection: "asyncpg.Connection[asyncpg.Record] | None" = None
    _task: "asyncio.Task[None] | None" = None
    _reads: "set[asyncio.Timeout]" = field(default_factory=set)

    def has(self, position: Position) -> bool:
        """Return whether the replica is known to have replayed the position; continue the sampling."""
        loop = asyncio.get_running_loop()
        self._used_at = now = loop.time()
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._sample_while_used())
        mine = self._position
        # A position of a later timeline means that the primary was replaced.
        return (
            mine is not None
            and now < self._sampled_at + SAMPLE_LIVES
            and position.timeline <= mine.timeline
            and position.offset <= mine.offset
        )

    def may_answer(self, position: Position) -> bool:
        """Return whether this replica may serve a read that needs the position."""
        return self.has(position) and self.is_in_rotation and self._sampled_at >= self._rests_until

    @property
    def is_sampled(self) -> bool:
        return self._task is not None and not self._task.done()

    async def await_position(self, position: Position, until: float) -> None:
        """Wait until the position is replayed, or until a time of the loop's clock."""
        while not self.has(position) and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110  # paced by samples
            await asyncio.sleep(EVERY)

    @asynccontextmanager
    async def in_time(self) -> AsyncIterator[None]:
        """Raise TimeoutError in the enclosed read if the server stops answering."""
        timeout = asyncio.timeout(None)
        try:
            async with timeout:
                self._reads.add(timeout)
                yield
            self.answered += 1
        except ServiceUnavailable as error:
            # A tenant that waits for its own slow reads does not indicate a failure of the server.
            if not isinstance(error.__cause__, ScopeBusy):
                self._rests_until = asyncio.get_running_loop().time() + RESTS
            raise
        finally:
            self._reads.discard(timeout)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        self._hang_up()
        await self.database.close()

    async def _sample_while_used(self) -> None:
        loop = asyncio.get_running_loop()
        while loop.time() < self._used_at + IDLE_AFTER:
            self.primary.refresh()
            pause = EVERY
            try:
                await self._sample()
            except (ServiceUnavailable, asyncpg.PostgresError, TimeoutError) as error:
                self._hang_up()
                self._leave(f"it does not answer ({type(error.__cause__ or error).__name__})")
                self._end_reads()
                pause = RESTS / 2
            await asyncio.sleep(pause)
        # Without samples the state is unknown, so report nothing.
        self._position, self.lag, self.is_in_rotation = None, None, False

    async def _sample(self) -> None:
        connection = await self._open()
        sent = asyncio.get_running_loop().time()
        with translated(connection):
            async with asyncio.timeout(SAMPLE_LIVES):
                if sent >= self._timeline_asked_at + TIMELINE_EVERY:
                    self._timeline, self._timeline_asked_at = await connection.fetchval(_TIMELINE), sent
                row = await connection.fetchrow(_ASKED)
        assert row is not None
        self._position, self._sampled_at = Position(self._timeline, row["replayed"]), sent
        seen = self.primary.seen_before(self._position)
        self.lag = None if seen is None else max(0.0, sent - seen)
        if not row["is_standby"]:
            self._leave("it is no replica any more")
        elif self.primary.timeline not in (0, self._timeline):
            self._leave(f"it has not followed the primary to timeline {self.primary.timeline} yet")
        elif self.lag is not None and self.lag <= MOST_LAG:
            self._join()
        elif self.primary.is_known_for(MOST_LAG):
            self._leave(f"it is more than {MOST_LAG:g} seconds behind")
        else:  # nothing old enough is known of the primary to measure by
            self.is_in_rotation = False

    def _join(self) -> None:
        if self._left:
            log.warning("The replica %s is read from again.", self.name)
        self.is_in_rotation, self._left = True, ""

    def _leave(self, why: str) -> None:
        if why != self._left:
            log.warning("The replica %s is not read from: %s.", self.name, why)
        self.is_in_rotation, self._left = False, why

    def _end_reads(self) -> None:
        for read in tuple(self._reads):
            read.reschedule(asyncio.get_running_loop().time())

    def _hang_up(self) -> None:
        self._position = None
        if self._connection is not None:
            self._connection.terminate()
            self._connection, self._timeline_asked_at = None, 0.0

    async def _open(self) -> "asyncpg.Connection[asyncpg.Record]":
        if self._connection is None or self._connection.is_closed():
            patience = self.database.patience
            with translated():
                self._connection = await connect(
                    self.database.url,
                    pooler=self.database.pooler,
                    timeout=patience.connect,
                    command_timeout=patience.statement,
                    server_settings={"application_name": "tenantry samples"},
                )
        return self._connection
