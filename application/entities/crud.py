"""Use cases for a single row of any entity: create, read, page, update, delete, restore."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from application.entities.writing import RowWriter, Write, WriteOutcome
from application.ports.database import RowReads
from application.ports.entities.records import Change, NewRow, RecordTransaction, RowPage, Stored, Versions
from application.ports.runtime import Ids
from domain.entities.declaration import EntityModel
from domain.entities.query.query import Query, View
from domain.errors import Conflict, FieldError, Forbidden, NotFound
from domain.scope import Scope


@dataclass(frozen=True)
class Crud:
    """Rows of any entity. The permission was checked before; tenant and rules are checked here."""

    reads: RowReads[RecordTransaction]
    writing: RowWriter
    ids: Ids

    async def create(self, write: Write, model: EntityModel, values: Mapping[str, object]) -> WriteOutcome[Stored]:
        written = await self.writing.add(write, model, [NewRow(self.ids.new(), values)])
        return WriteOutcome(written.answer[0], written.is_replayed)

    async def get(self, scope: Scope, model: EntityModel, row_id: UUID, view: View) -> Stored:
        stored = await self.reads.read(scope, lambda read: read.records.get(model, row_id, view))
        if stored is None:
            raise NotFound
        return stored

    async def page(self, scope: Scope, model: EntityModel, query: Query) -> RowPage:
        return await self.reads.read(scope, lambda read: read.records.page(model, query))

    async def update(self, write: Write, model: EntityModel, change: Change) -> Stored:
        """Change only the given values; the change contains the versions of ``If-Match``."""
        (stored,) = await self.writing.change(write, model, [change])
        return stored

    async def delete(self, write: Write, model: EntityModel, row_id: UUID, version: Versions) -> None:
        try:
            await self.writing.remove(write, model, [row_id], version)
        except NotFound:
            # The error for a single row names no field, unlike the error for a batch.
            raise NotFound from None
        except Forbidden:
            raise Forbidden from None
        except Conflict as error:
            raise _of_single_row(error) from None

    async def restore(self, write: Write, model: EntityModel, row_id: UUID, version: Versions) -> WriteOutcome[Stored]:
        return await self.writing.restore(write, model, row_id, version)

    async def purge(self, write: Write, model: EntityModel, row_id: UUID, version: Versions) -> None:
        """Delete the row, even if soft-deleted, permanently."""
        try:
            await self.writing.purge(write, model, row_id, version)
        except Conflict as error:
            raise _of_single_row(error) from None


def _of_single_row(error: Conflict) -> Conflict:
    return Conflict(error.message, [FieldError("id", wrong.message) for wrong in error.fields])
