"""The life of one row, whichever its entity is: create, read, page, update, delete, restore."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from application.entities.writing import RowWriter, Write, WriteOutcome
from application.ports.clock import Ids
from application.ports.database import Database
from application.ports.entities.records import Change, NewRow, RecordTransaction, RowPage, Stored
from domain.entities.declaration import EntityModel
from domain.entities.query.query import Query, View
from domain.errors import NotFound
from domain.scope import Scope


@dataclass(frozen=True)
class Crud:
    """The permission has been checked before; what a row may be, and whose it is, is checked here."""

    database: Database[RecordTransaction]
    writing: RowWriter
    ids: Ids

    async def create(self, write: Write, model: EntityModel, values: Mapping[str, object]) -> WriteOutcome[Stored]:
        written = await self.writing.add(write, model, [NewRow(self.ids.new(), values)])
        return WriteOutcome(written.answer[0], written.is_replayed)

    async def get(self, scope: Scope, model: EntityModel, row_id: UUID, view: View) -> Stored:
        async with self.database.read_only(scope) as read:
            stored = await read.records.get(model, row_id, view)
        if stored is None:
            raise NotFound
        return stored

    async def page(self, scope: Scope, model: EntityModel, query: Query) -> RowPage:
        async with self.database.read_only(scope) as read:
            return await read.records.page(model, query)

    async def update(self, write: Write, model: EntityModel, change: Change) -> Stored:
        """Only the values given change; ``change.version`` is what ``If-Match`` named."""
        (stored,) = await self.writing.change(write, model, [change])
        return stored

    async def delete(self, write: Write, model: EntityModel, row_id: UUID, version: int | None) -> None:
        try:
            await self.writing.remove(write, model, [row_id], version)
        except NotFound:
            raise NotFound from None  # one row's absence says nothing but that

    async def restore(self, write: Write, model: EntityModel, row_id: UUID) -> WriteOutcome[Stored]:
        return await self.writing.restore(write, model, row_id)

    async def purge(self, write: Write, model: EntityModel, row_id: UUID, version: int | None) -> None:
        """Takes a deleted row too."""
        await self.writing.purge(write, model, row_id, version)
