"""History of a row, for entities that record one."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from application.ports.database import RowReads
from application.ports.entities.history import Entry, HistoryTransaction
from domain.entities.declaration import EntityModel
from domain.entities.query.query import Query
from domain.errors import NotFound
from domain.scope import Scope


@dataclass(frozen=True)
class Histories:
    reads: RowReads[HistoryTransaction]

    async def page(self, scope: Scope, model: EntityModel, row_id: UUID, query: Query) -> tuple[list[Entry], int]:
        """Return a page of the history and the number of entries. Raises NotFound for an unreadable row."""

        async def page_of_row(read: HistoryTransaction) -> tuple[Sequence[Entry], int] | None:
            if await read.records.get(model, row_id, query.view) is None:
                return None
            return await read.history.page(model, row_id, query.offset, query.page_size)

        found = await self.reads.read(scope, page_of_row)
        if found is None:
            raise NotFound
        entries, total = found
        # Security: omit changes of hidden fields.
        known = {field.wire for field in model.declared if (model.plural, field.name) not in query.view.hidden}
        return [_visible(entry, known) for entry in entries], total


def _visible(entry: Entry, known: set[str]) -> Entry:
    changes = tuple(change for change in entry.changes if change.field in known)
    return Entry(entry.version, entry.action, entry.at, entry.by, changes)
