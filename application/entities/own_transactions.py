"""Transactions of a project's own code: rows of several entities, written all or none."""

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
    """A transaction in the caller's tenant: ``rows`` applies an entity's rules, ``records`` does not.

    ``locks`` is False for reads only.
    """

    def __init__(
        self, tx: WriteTransaction, entities: tuple[EntityAccess, ...], request: RowsRequest, *, locks: bool
    ) -> None:
        self._tx: WriteTransaction | None = tx
        self._entities, self._request, self._locks = entities, request, locks

    @property
    def tx(self) -> WriteTransaction:
        # Security: do not use the connection after the end, because it may already serve another tenant.
        if self._tx is None:
            raise RuntimeError("The transaction has ended: its rows are read and written inside its block alone.")
        return self._tx

    def end(self) -> None:
        """Release the transaction; only its opener may call it. Objects obtained from it then raise an error."""
        self._tx = None

    @property
    def records(self) -> Records:
        _ = self.tx  # raises if the transaction has ended
        return cast(Records, _LentRecords(self))

    def rows(self, kind: type[E]) -> Rows[E]:
        """Return an entity's rows in this transaction: ``await tx.rows(Product).create(…)``.

        ``get`` locks the row until the transaction ends, so that the code can compute a value from the row and store it
        before others read the row. A refused write changes nothing: code may catch the error and continue. Raises
        TypeError for a struct that is not an entity.
        """
        entity = next((entity for entity in self._entities if entity.model.struct is kind), None)
        if entity is None:
            raise TypeError(f"{kind.__name__} is no entity that this service serves.")
        return Rows(_joined(entity, OpenTransaction(lambda: self.tx), locks=self._locks), self._request)


@dataclass(frozen=True)
class _LentRecords:
    """Records usable until the transaction ends."""

    whole: RowsTransaction

    def __getattr__(self, name: str) -> object:
        return getattr(self.whole.tx.records, name)


@dataclass(frozen=True)
class OpenTransaction:
    """Database for use cases inside a transaction: their transactions are its savepoints, in its scope."""

    current: Callable[[], WriteTransaction]

    @asynccontextmanager
    async def transaction(self, _: Scope) -> AsyncIterator[WriteTransaction]:
        async with self.current().savepoint():
            yield self.current()

    # A rule may refuse a single statement afterwards, too.
    autocommit = transaction

    @asynccontextmanager
    async def read_only(self, _: Scope) -> AsyncIterator[WriteTransaction]:
        yield self.current()

    read_transaction = read_only

    async def read(self, _: Scope, question: Callable[[WriteTransaction], Awaitable[Found]]) -> Found:
        return await question(self.current())


@dataclass(frozen=True)
class _LockingCrud(Crud):
    """Use cases for single rows in a transaction that writes rows after it reads them."""

    async def get(self, scope: Scope, model: EntityModel, row_id: UUID, view: View) -> Stored:
        # Lock the row first, so that the read sees writes of the transaction that held the lock before.
        await self.reads.read(scope, lambda tx: tx.records.current(model, [row_id], shares=True))
        return await super().get(scope, model, row_id, view)


def _joined(entity: EntityAccess, opened: OpenTransaction, *, locks: bool) -> EntityAccess:
    """The entity's use cases inside the transaction."""
    outside, ids = entity.crud.writing, entity.crud.ids
    writing = RowWriter(opened, outside.registry, outside.clock)
    crud = _LockingCrud if locks and may_be_written(entity.model) else Crud
    return EntityAccess(entity.model, crud(opened, writing, ids), Batches(writing, ids), entity.fields)
