"""ReplicaReads: reads from a replica that has the reader's writes, otherwise from the primary."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

import asyncpg

from adapters.postgres.connection.outages import QuietOutages
from adapters.postgres.database import Patience, PostgresDatabase
from adapters.postgres.replicas.positions import PrimaryLog
from adapters.postgres.replicas.replica import MOST_LAG, SAMPLE_LIVES, Replica
from adapters.postgres.transaction import PostgresTransaction
from application.ports.load import ReplicaLoad
from application.ports.replicas import WANTED, Position
from domain.errors import SerializationConflict, ServiceUnavailable
from domain.scope import Scope

log = logging.getLogger(__name__)

Found = TypeVar("Found")

FAILURES = (ServiceUnavailable, SerializationConflict, TimeoutError, asyncpg.PostgresError)
"""Errors of a replica that the primary may not have: unavailable, statement cancelled by the replay, or a migration not
yet replayed.
"""
LEFT_BY_ALL = MOST_LAG + SAMPLE_LIVES + 0.5
"""Seconds after a write, after which no process reads from a replica that has not replayed the write."""


PATIENCE = Patience(acquire=1.0, connect=1.0)
"""Short, because the primary can answer instead."""


def replica_reads(primary: PostgresDatabase, urls: Sequence[str]) -> "ReplicaReads":
    log = PrimaryLog(primary.url, primary.pooler)
    replicas = [Replica(_named(url), replica_database(primary, url), log) for url in urls]
    return ReplicaReads(primary, log, replicas)


def replica_database(primary: PostgresDatabase, url: str) -> PostgresDatabase:
    """Return connections to a replica, with role, row-level security and settings as on the primary."""
    return replace(primary, url=url, _pool=None, patience=PATIENCE, outages=QuietOutages())


def _named(url: str) -> str:
    """Host and port, without the password."""
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    host = parts.hostname or query.get("host", [""])[-1]
    return f"{host}:{parts.port or query.get('port', ['5432'])[-1]}"


@dataclass(eq=False)
class ReplicaReads:
    """Reads from replicas, which each process samples; the first use opens their pools and ``log``."""

    primary: PostgresDatabase
    log: PrimaryLog
    replicas: Sequence[Replica]

    async def open(self) -> None:
        for replica in self.replicas:
            await replica.database.open()

    async def close(self) -> None:
        for replica in self.replicas:
            await replica.close()
        await self.log.close()

    async def read(self, scope: Scope, question: Callable[[PostgresTransaction], Awaitable[Found]]) -> Found:
        replica = self._chosen()
        if replica is not None:
            try:
                async with replica.in_time(), replica.database.read_only(scope) as read:
                    found = await question(read)
            except FAILURES as failure:
                log.debug("The primary answers for the replica %s.", replica.name, exc_info=failure)
            else:
                # A missing row may be too new for the replica.
                if found is not None:
                    return found
        async with self.primary.read_only(scope) as read:
            return await question(read)

    @asynccontextmanager
    async def read_transaction(self, scope: Scope) -> AsyncIterator[PostgresTransaction]:
        """Open a read transaction on a replica, or on the primary if the replica fails at its beginning."""
        async with AsyncExitStack() as stack:
            begun: PostgresTransaction | None = None
            if (replica := self._chosen()) is not None:
                try:
                    begun = await stack.enter_async_context(replica.database.read_transaction(scope))
                except FAILURES as failure:
                    log.debug("The primary answers for the replica %s.", replica.name, exc_info=failure)
            if begun is None:
                begun = await stack.enter_async_context(self.primary.transaction(scope))
            yield begun

    def load(self) -> ReplicaLoad:
        used = [replica for replica in self.replicas if replica.is_sampled]
        reading = sum(replica.is_in_rotation for replica in used)
        lag = max((replica.lag or 0.0 for replica in used), default=0.0)
        return ReplicaLoad(in_rotation=reading, left_out=len(used) - reading, lag=lag)

    async def position(self) -> Position:
        return await self.log.position()

    async def replayed(self, position: Position) -> None:
        until = asyncio.get_running_loop().time() + LEFT_BY_ALL
        for replica in self.replicas:
            await replica.await_position(position, until)

    def _chosen(self) -> Replica | None:
        """Return a replica that has replayed the wanted position; the same one for a session while it qualifies."""
        wanted = WANTED.get()
        if wanted is None:
            return None
        fit = [replica for replica in self.replicas if replica.may_answer(wanted.position)]
        return fit[wanted.session_id.int % len(fit)] if fit else None
