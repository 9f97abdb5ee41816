"""TimedDatabase: the database, each use of it timed for ``Server-Timing``."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from adapters.http.operations.server_timing import on
from application.ports.database import RowReads
from application.ports.whole_database import Transaction, WholeDatabase
from domain.scope import Scope

Found = TypeVar("Found")


@dataclass(frozen=True)
class TimedDatabase:
    """The database, with the time of each use from asking for a connection until the connection is given back."""

    # Inside nothing else is awaited: an architecture test checks it.

    database: WholeDatabase

    def transaction(self, scope: Scope) -> AbstractAsyncContextManager[Transaction]:
        return _timed(self.database.transaction(scope))

    def read_only(self, scope: Scope) -> AbstractAsyncContextManager[Transaction]:
        return _timed(self.database.read_only(scope))

    def autocommit(self, scope: Scope) -> AbstractAsyncContextManager[Transaction]:
        return _timed(self.database.autocommit(scope))

    async def is_ready(self) -> bool:
        return await self.database.is_ready()


@dataclass(frozen=True)
class TimedReads:
    """Reads of rows with the time of each, by replicas and by the primary alike."""

    reads: RowReads[Transaction]

    async def read(self, scope: Scope, question: Callable[[Transaction], Awaitable[Found]]) -> Found:
        with on("database"):
            return await self.reads.read(scope, question)

    def read_transaction(self, scope: Scope) -> AbstractAsyncContextManager[Transaction]:
        return _timed(self.reads.read_transaction(scope))


@asynccontextmanager
async def _timed(opened: AbstractAsyncContextManager[Transaction]) -> AsyncIterator[Transaction]:
    with on("database"):
        async with opened as transaction:
            yield transaction
