"""Transactions of a project's own code: rows of several entities, written together or not at all."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar, cast

from msgspec import Struct

from application.entities.batches import Batches
from application.entities.crud import Crud
from application.entities.own_rows import EntityAccess, Rows, RowsRequest
from application.entities.writing import RowWriter
from application.ports.entities.idempotency import WriteTransaction
from application.ports.entities.records import Records
from domain.scope import Scope

E = TypeVar("E", bound=Struct)
Found = TypeVar("Found")


class RowsTransaction:
    """A transaction in the caller's tenant: ``rows`` are an entity's, with its rules; ``records`` are any, without."""

    def __init__(self, tx: WriteTransaction, entities: tuple[EntityAccess, ...], request: RowsRequest) -> None:
        self._tx: WriteTransaction | None = tx
        self._entities, self._request = entities, request

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

        A write that is refused leaves the transaction as it was: whoever catches the error may go on. Raises TypeError
        for a struct that declares no entity of the service.
        """
        entity = next((entity for entity in self._entities if entity.model.struct is kind), None)
        if entity is None:
            raise TypeError(f"{kind.__name__} is no entity that this service serves.")
        return Rows(_joined(entity, _OpenTransaction(self)), self._request)


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


def _joined(entity: EntityAccess, opened: _OpenTransaction) -> EntityAccess:
    """The entity's use cases, whose reads and writes take part in the transaction."""
    outside, ids = entity.crud.writing, entity.crud.ids
    writing = RowWriter(opened, outside.registry, outside.clock)
    return EntityAccess(entity.model, Crud(opened, writing, ids), Batches(writing, ids), entity.fields)
