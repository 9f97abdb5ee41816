"""TimedDatabase: the database, each use of it timed for ``Server-Timing``."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from adapters.http.operations.server_timing import on
from application.ports.whole_database import Transaction, WholeDatabase
from domain.scope import Scope


@dataclass(frozen=True)
class TimedDatabase:
    """Times from asking for a connection until it is given back."""

    # Inside nothing else is awaited: an architecture test sees to it.

    database: WholeDatabase

    def transaction(self, scope: Scope) -> AbstractAsyncContextManager[Transaction]:
        return _timed(self.database.transaction(scope))

    def read_only(self, scope: Scope) -> AbstractAsyncContextManager[Transaction]:
        return _timed(self.database.read_only(scope))

    def autocommit(self, scope: Scope) -> AbstractAsyncContextManager[Transaction]:
        return _timed(self.database.autocommit(scope))

    async def is_ready(self) -> bool:
        return await self.database.is_ready()


@asynccontextmanager
async def _timed(rooms: AbstractAsyncContextManager[Transaction]) -> AsyncIterator[Transaction]:
    with on("database"):
        async with rooms as entered:
            yield entered
