"""The one store of truth in dictionaries: transactions go one after the other, each on a copy."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from adapters.memory.store import Store
from adapters.memory.transaction import MemoryTransaction
from application.ports.clock import Ids
from domain.entities.declaration import Registry
from domain.errors import InternalError, ServiceUnavailable
from domain.scope import Scope


@dataclass
class MemoryDatabase:
    """``down`` makes it behave as a database that is away, for as long as it is set."""

    registry: Registry
    ids: Ids
    down: bool = False
    _committed: Store = field(default_factory=Store)
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @asynccontextmanager
    async def transaction(self, scope: Scope) -> AsyncIterator[MemoryTransaction]:
        async with self.changing() as store:
            yield MemoryTransaction(_Within(store), scope, self.registry, self.ids)

    @asynccontextmanager
    async def read_only(self, scope: Scope) -> AsyncIterator[MemoryTransaction]:
        self.committed()
        yield MemoryTransaction(_ReadOnly(self), scope, self.registry, self.ids)

    @asynccontextmanager
    async def autocommit(self, scope: Scope) -> AsyncIterator[MemoryTransaction]:
        self.committed()
        yield MemoryTransaction(_Autocommit(self), scope, self.registry, self.ids)

    async def is_ready(self) -> bool:
        return not self.down

    def committed(self) -> Store:
        """Raises ServiceUnavailable while it is down."""
        if self.down:
            raise ServiceUnavailable
        return self._committed

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[Store]:
        async with self._writing:
            store = self.committed().copy()
            yield store
            self.committed()
            self._committed = store


@dataclass(frozen=True)
class _Within:
    """Inside a transaction all statements share its copy."""

    store: Store

    def read(self) -> Store:
        return self.store

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Store]:
        yield self.store


@dataclass(frozen=True)
class _ReadOnly:
    """Each read sees what is committed at that moment."""

    database: MemoryDatabase

    def read(self) -> Store:
        return self.database.committed()

    def write(self) -> AbstractAsyncContextManager[Store]:
        raise InternalError("A write was tried on a read-only connection.")


@dataclass(frozen=True)
class _Autocommit(_ReadOnly):
    """Each write is a transaction of its own."""

    def write(self) -> AbstractAsyncContextManager[Store]:
        return self.database.changing()
