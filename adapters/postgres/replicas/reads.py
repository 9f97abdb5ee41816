"""ReplicaReads: reads of rows by a replica that has what the reader wrote, else by the primary."""

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
"""What a replica may fail with where the primary would not: it is away, its replay cancelled the statement, or a
migration has not reached it."""
LEFT_BY_ALL = MOST_LAG + SAMPLE_LIVES + 0.5
"""Seconds after a write in which every process has stopped reading from a replica without it."""


PATIENCE = Patience(acquire=1.0, connect=1.0)
"""Short, because the primary answers instead."""


def replica_reads(primary: PostgresDatabase, urls: Sequence[str]) -> "ReplicaReads":
    log = PrimaryLog(primary.url, primary.pooler)
    replicas = [Replica(_named(url), replica_database(primary, url), log) for url in urls]
    return ReplicaReads(primary, log, replicas)


def replica_database(primary: PostgresDatabase, url: str) -> PostgresDatabase:
    """Connections to a replica, with role, row-level security and settings as on the primary."""
    return replace(primary, url=url, _pool=None, patience=PATIENCE, outages=QuietOutages())


def _named(url: str) -> str:
    """Host and port of a URL, without its password."""
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    host = parts.hostname or query.get("host", [""])[-1]
    return f"{host}:{parts.port or query.get('port', ['5432'])[-1]}"


@dataclass(eq=False)
class ReplicaReads:
    """Reads of rows by replicas, which each process samples; their pools and ``log`` are opened by their first use."""

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
                # What is not there may be new, and its id known from somebody else.
                if found is not None:
                    return found
        async with self.primary.read_only(scope) as read:
            return await question(read)

    @asynccontextmanager
    async def read_transaction(self, scope: Scope) -> AsyncIterator[PostgresTransaction]:
        """A replica that does not begin the transaction is replaced by the primary; afterwards its errors are told."""
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
        """A replica that has what is wanted, for one session the same as long as it has."""
        wanted = WANTED.get()
        if wanted is None:
            return None
        fit = [replica for replica in self.replicas if replica.may_answer(wanted.position)]
        return fit[wanted.session_id.int % len(fit)] if fit else None
