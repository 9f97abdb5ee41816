"""What happened to a row, of entities that keep a history."""

from dataclasses import dataclass
from uuid import UUID

from application.ports.database import Database
from application.ports.entities.history import Entry, HistoryTransaction
from domain.entities.declaration import EntityModel
from domain.entities.query.query import Query
from domain.errors import NotFound
from domain.scope import Scope


@dataclass(frozen=True)
class Histories:
    database: Database[HistoryTransaction]

    async def page(self, scope: Scope, model: EntityModel, row_id: UUID, query: Query) -> tuple[list[Entry], int]:
        """Of a row that the caller can read, and how many there are; fields that do not exist for them are left out."""
        async with self.database.read_only(scope) as read:
            if await read.records.get(model, row_id, query.view) is None:
                raise NotFound
            entries, total = await read.history.page(model, row_id, query.offset, query.page_size)
        known = {one.wire for one in model.declared if (model.plural, one.name) not in query.view.hidden}
        return [_shown(entry, known) for entry in entries], total


def _shown(entry: Entry, known: set[str]) -> Entry:
    changes = tuple(one for one in entry.changes if one.field in known)
    return Entry(entry.version, entry.action, entry.at, entry.by, changes)
