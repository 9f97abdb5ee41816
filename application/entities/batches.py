"""Batches: several rows of an entity, written all or none; errors name the item, as ``items[3].price``."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from application.entities.writing import RowWriter, Write, WriteOutcome
from application.ports.entities.records import Change, NewRow, Stored
from application.ports.runtime import Ids
from domain.entities.declaration import EntityModel
from domain.errors import Error, FieldError, Forbidden, NotFound, PreconditionFailed


@dataclass(frozen=True)
class Batches:
    writing: RowWriter
    ids: Ids

    async def create(
        self, write: Write, model: EntityModel, items: Sequence[Mapping[str, object]]
    ) -> WriteOutcome[list[Stored]]:
        with _errors_by_item(len(items)):
            return await self.writing.add(write, model, [NewRow(self.ids.new(), values) for values in items])

    async def update(self, write: Write, model: EntityModel, changes: Sequence[Change]) -> list[Stored]:
        with _errors_by_item(len(changes)):
            return await self.writing.change(write, model, changes)

    async def delete(self, write: Write, model: EntityModel, ids: Sequence[UUID]) -> WriteOutcome[list[UUID]]:
        """Delete the rows; return each id once, in the given order."""
        return await self.writing.remove(write, model, ids, None)


@contextmanager
def _errors_by_item(count: int) -> Iterator[None]:
    # Errors in a batch of one item need an index, but RowWriter omits it for a single row.
    try:
        yield
    except Error as error:
        if count != 1 or not (error.fields or isinstance(error, NotFound | Forbidden | PreconditionFailed)):
            raise
        name = "version" if isinstance(error, PreconditionFailed) else "id"
        fields = error.fields or (FieldError(name, error.message),)
        raise type(error)(
            error.message, [FieldError(f"items[0].{field.field}", field.message) for field in fields]
        ) from None
