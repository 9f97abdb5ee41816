"""The database in dictionaries: serial transactions, each on a copy."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from adapters.memory.store import Store
from adapters.memory.transaction import MemoryTransaction
from application.ports.runtime import Ids
from domain.entities.declaration import Registry
from domain.errors import InternalError, ServiceUnavailable
from domain.scope import Scope


@dataclass
class MemoryDatabase:
    """Committed state and its transactions; with ``down``, it behaves like an unavailable database."""

    registry: Registry
    ids: Ids
    down: bool = False
    _committed: Store = field(default_factory=Store)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @asynccontextmanager
    async def transaction(self, scope: Scope) -> AsyncIterator[MemoryTransaction]:
        async with self.changing() as store:
            yield MemoryTransaction(_InTransaction(store), scope, self.registry, self.ids)

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
        """Return the committed state. Raises ServiceUnavailable if ``down`` is set."""
        if self.down:
            raise ServiceUnavailable
        return self._committed

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[Store]:
        """Yield a copy of the committed state. If the block raises no error, the copy becomes the committed state."""
        async with self._lock:
            store = self.committed().copy()
            yield store
            # Raises if the database became unavailable during the block.
            self.committed()
            self._committed = store


@dataclass(frozen=True)
# All statements of a transaction share its copy.
class _InTransaction:
    store: Store

    def read(self) -> Store:
        return self.store

    lock = read

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Store]:
        yield self.store


@dataclass(frozen=True)
# Each statement sees the data committed at its time.
class _ReadOnly:
    database: MemoryDatabase

    def read(self) -> Store:
        return self.database.committed()

    def lock(self) -> Store:
        raise InternalError("A write was tried on a read-only connection.")

    def write(self) -> AbstractAsyncContextManager[Store]:
        raise InternalError("A write was tried on a read-only connection.")


@dataclass(frozen=True)
# Each write is a separate transaction.
class _Autocommit(_ReadOnly):
    def lock(self) -> Store:
        return self.read()

    def write(self) -> AbstractAsyncContextManager[Store]:
        return self.database.changing()
