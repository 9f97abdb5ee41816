"""Transactions of a project's own code: rows of several entities, written together or not at all."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar, cast
from uuid import UUID

from msgspec import Struct

from application.entities.batches import Batches
from application.entities.crud import Crud
from application.entities.own_rows import EntityAccess, Rows, RowsRequest, may_be_written
from application.entities.writing import RowWriter
from application.ports.entities.idempotency import WriteTransaction
from application.ports.entities.records import Records, Stored
from domain.entities.declaration import EntityModel
from domain.entities.query.query import View
from domain.scope import Scope

E = TypeVar("E", bound=Struct)
Found = TypeVar("Found")


class RowsTransaction:
    """A transaction in the caller's tenant: ``rows`` are an entity's, with its rules; ``records`` are any, without.

    ``locks`` False where nothing is written.
    """

    def __init__(
        self, tx: WriteTransaction, entities: tuple[EntityAccess, ...], request: RowsRequest, *, locks: bool
    ) -> None:
        self._tx: WriteTransaction | None = tx
        self._entities, self._request, self._locks = entities, request, locks

    @property
    def tx(self) -> WriteTransaction:
        # Security: the connection is another request's by now, perhaps one of another tenant.
        if self._tx is None:
            raise RuntimeError("The transaction has ended: its rows are read and written inside its block alone.")
        return self._tx

    def end(self) -> None:
        """For whoever opened it: what was taken from it works no more."""
        self._tx = None

    @property
    def records(self) -> Records:
        _ = self.tx  # raises at once where it has ended
        return cast(Records, _LentRecords(self))

    def rows(self, kind: type[E]) -> Rows[E]:
        """Rows of an entity, read and written in this transaction: ``await tx.rows(Product).create(…)``.

        ``get`` locks the row until the transaction ends, so that what is computed from it is stored before others read
        it to do the same. A write that is refused leaves the transaction as it was: whoever catches the error may go
        on. Raises TypeError for a struct that declares no entity of the service.
        """
        entity = next((entity for entity in self._entities if entity.model.struct is kind), None)
        if entity is None:
            raise TypeError(f"{kind.__name__} is no entity that this service serves.")
        return Rows(_joined(entity, _OpenTransaction(self), locks=self._locks), self._request)


@dataclass(frozen=True)
class _LentRecords:
    """Records whose methods end with the transaction."""

    whole: RowsTransaction

    def __getattr__(self, name: str) -> object:
        return getattr(self.whole.tx.records, name)


@dataclass(frozen=True)
class _OpenTransaction:
    """The database as use cases find it inside a transaction: each of their own is a part of it, with its scope."""

    whole: RowsTransaction

    @asynccontextmanager
    async def transaction(self, _: Scope) -> AsyncIterator[WriteTransaction]:
        async with self.whole.tx.savepoint():
            yield self.whole.tx

    # one statement may be refused by a rule that is asked behind it, as several may
    autocommit = transaction

    @asynccontextmanager
    async def read_only(self, _: Scope) -> AsyncIterator[WriteTransaction]:
        yield self.whole.tx

    read_transaction = read_only

    async def read(self, _: Scope, question: Callable[[WriteTransaction], Awaitable[Found]]) -> Found:
        return await question(self.whole.tx)


@dataclass(frozen=True)
class _LockingCrud(Crud):
    """The use cases of a single row, where a row that is read may be written by and by."""

    async def get(self, scope: Scope, model: EntityModel, row_id: UUID, view: View) -> Stored:
        # As rules do. The read behind it sees what whoever had the lock has written.
        await self.reads.read(scope, lambda tx: tx.records.current(model, [row_id], shares=True))
        return await super().get(scope, model, row_id, view)


def _joined(entity: EntityAccess, opened: _OpenTransaction, *, locks: bool) -> EntityAccess:
    """The entity's use cases, whose reads and writes take part in the transaction."""
    outside, ids = entity.crud.writing, entity.crud.ids
    writing = RowWriter(opened, outside.registry, outside.clock)
    crud = _LockingCrud if locks and may_be_written(entity.model) else Crud
    return EntityAccess(entity.model, crud(opened, writing, ids), Batches(writing, ids), entity.fields)
