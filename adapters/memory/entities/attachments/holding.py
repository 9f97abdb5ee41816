"""Files that rows hold, with the rules of PostgreSQL's."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from adapters.memory.entities.state import Tables
from application.ports.entities.records import Act
from domain.entities.attachments.files import ATTACHED_WITHIN, purpose_of
from domain.entities.attachments.marks import FILES
from domain.entities.declaration import EntityModel, FieldModel


@dataclass
class MemoryHolding:
    """Files of the rows of one entity and tenant. Of two rows with one file, the first holds it."""

    tables: Tables
    model: EntityModel
    tenant: UUID | None
    act: Act
    _taken: dict[UUID, UUID] = field(default_factory=dict)

    def wrong(self, row_id: UUID, values: Mapping[str, object]) -> Iterator[tuple[FieldModel, int | None]]:
        """Yield the field of each file that the row may not hold, with its position in a list."""
        for held in self.model.attachments:
            for place, file_id in _named(held, values):
                if not self._may_hold(held, row_id, file_id):
                    yield held, place

    def settle(self, row_id: UUID, values: Mapping[str, object]) -> None:
        """Let the row hold the files in ``values``, and release the other files of these fields."""
        files = self.tables.setdefault(FILES, {})
        for held in self.model.attachments:
            if held.name in values:
                named = {file_id for _, file_id in _named(held, values)}
                for file_id in named:
                    holder = {"entity": self.model.plural, "row_id": row_id}
                    files[file_id] = {**files[file_id], **holder, "state": "held", "since": self.act.at}
                release(self.tables, self.model, row_id, self.act, purpose_of(self.model, held), named)

    def _may_hold(self, held: FieldModel, row_id: UUID, file_id: UUID) -> bool:
        file = self.tables.get(FILES, {}).get(file_id)
        if file is None or (file["tenant_id"], file["purpose"]) != (self.tenant, purpose_of(self.model, held)):
            return False
        since = file["since"]
        assert isinstance(since, datetime)
        is_own = file["created_by"] == self.act.by and since > self.act.at - ATTACHED_WITHIN
        is_of_row = (file["entity"], file["row_id"]) == (self.model.plural, row_id)
        is_free = file["state"] == "temporary" and is_own
        if not (is_free or (file["state"] in ("held", "released") and is_of_row)):
            return False
        return self._taken.setdefault(file_id, row_id) == row_id


def release(
    tables: Tables,
    model: EntityModel,
    row_id: object,
    act: Act,
    purpose: str | None = None,
    but: set[UUID] | frozenset[UUID] = frozenset(),
) -> None:
    """Release the files that the row holds, for this purpose or for all."""
    for file_id, file in tables.get(FILES, {}).items():
        is_of_row = (file["entity"], file["row_id"], file["state"]) == (model.plural, row_id, "held")
        if is_of_row and purpose in (None, file["purpose"]) and file_id not in but:
            tables[FILES][file_id] = {**file, "state": "released", "since": act.at}


def holders(tables: Tables, model: EntityModel, held: FieldModel) -> dict[UUID, UUID]:
    """Return the rows that name files in the field, by the ids of the files."""
    rows = tables.get(model.plural, {}).items()
    return {file_id: row_id for row_id, row in rows for _, file_id in _named(held, row)}


def _named(held: FieldModel, values: Mapping[str, object]) -> Iterator[tuple[int | None, UUID]]:
    value = values.get(held.name)
    if isinstance(value, UUID):
        yield None, value
    elif isinstance(value, list | dict):  # as a write gives it, and as a row stores it
        yield from enumerate(value)
