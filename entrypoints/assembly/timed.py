"""Timed parts of the service for ``Server-Timing``: tokens, limits and the database."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from application.identity.login.token_authentication import TokenAuthentication
from application.ports.database import RowReads
from application.ports.whole_database import Transaction, WholeDatabase
from application.stage_times import on
from application.throttle import Admitted, Renewal, Throttle
from domain.limits import Hit
from domain.scope import Caller, Scope

Found = TypeVar("Found")


class TimedTokens(TokenAuthentication):
    def caller(self, token: str, now: datetime) -> Caller:
        with on("token"):
            return super().caller(token, now)


class TimedThrottle(Throttle):
    async def admit(
        self, hits: Sequence[Hit], caller: Caller | None, instead: Sequence[Hit], renewal: Renewal | None = None
    ) -> Admitted:
        with on("limits"):
            return await super().admit(hits, caller, instead, renewal)


@dataclass(frozen=True)
class TimedDatabase:
    """The database, with a measurement of each use from the request for a connection to its return."""

    # The measured time is that of the database, because an architecture test checks that its uses await nothing else.

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
    """Timed reads of rows, by replicas and the primary."""

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
