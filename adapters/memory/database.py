"""The database in dictionaries: transactions run one after the other, each on a copy."""

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
    """Committed state and its transactions; with ``down`` set it behaves like a database that is away."""

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
        """The committed state. Raises ServiceUnavailable while ``down`` is set."""
        if self.down:
            raise ServiceUnavailable
        return self._committed

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[Store]:
        """A copy of the committed state, which replaces it when the block ends without an error."""
        async with self._lock:
            store = self.committed().copy()
            yield store
            # Raises when the database went down during the block: nothing is committed then.
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
# Each statement sees what is committed at its time.
class _ReadOnly:
    database: MemoryDatabase

    def read(self) -> Store:
        return self.database.committed()

    def lock(self) -> Store:
        raise InternalError("A write was tried on a read-only connection.")

    def write(self) -> AbstractAsyncContextManager[Store]:
        raise InternalError("A write was tried on a read-only connection.")


@dataclass(frozen=True)
# Each write is a transaction of its own.
class _Autocommit(_ReadOnly):
    def lock(self) -> Store:
        return self.read()

    def write(self) -> AbstractAsyncContextManager[Store]:
        return self.database.changing()
