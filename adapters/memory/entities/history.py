"""History: one entry per row version."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from adapters.memory.entities.row_json import encoded, json_object
from adapters.memory.entities.state import Row, Tables
from adapters.memory.store import Access
from application.ports.entities.history import Action, Entry, FieldChange
from application.ports.entities.records import Act
from domain.entities.declaration import EntityModel
from domain.entities.query.matching import plain
from domain.entities.query.read_query import MAX_PAGE_SIZE
from domain.entities.query.responses import LARGEST_PAGE_BYTES, too_large_page
from domain.scope import OneTenant, Scope

TABLE = "row_history"


def record(tables: Tables, model: EntityModel, act: Act, action: Action, rows: tuple[Row | None, Row]) -> None:
    """Add an entry for a row before and after a change, unless the entity has no history."""
    if not model.declaration.history:
        return
    before, after = rows
    lines = tables.setdefault(TABLE, {})
    entry = Entry(version_of(after), action, act.at, act.by, tuple(_changes(model, before, after)))
    # The last key is the largest. Older entries may be deleted.
    lines[UUID(int=next(reversed(lines)).int + 1 if lines else 1)] = {
        "tenant_id": after["tenant_id"],
        "at": act.at,
        "entity": model.plural,
        "row_id": after["id"],
        "entry": entry,
    }


def version_of(row: Row) -> int:
    """Return the row's version, or 0 for an entity without versions."""
    version = row.get("version", 0)
    assert isinstance(version, int)
    return version


def touched(row: Row, act: Act) -> Row:
    """Return the values that record a change of the row: none for an entity without versions."""
    if "version" not in row:
        return {}
    return {"updated_at": act.at, "updated_by": act.by, "version": version_of(row) + 1}


def _changes(model: EntityModel, before: Row | None, after: Row) -> list[FieldChange]:
    names = [field.name for field in model.declared]
    old: dict[str, Any] = dict.fromkeys((field.wire for field in model.declared), None)
    old |= {} if before is None else json_object(model, before, names, shows_tenant=False)
    new = json_object(model, after, names, shows_tenant=False)
    return [
        FieldChange(field.wire, encoded(old[field.wire]), encoded(new[field.wire]))
        for field in model.declared
        if plain(None if before is None else before[field.name]) != plain(after[field.name])
    ]


@dataclass(frozen=True)
class MemoryHistory:
    access: Access
    scope: Scope

    async def page(self, model: EntityModel, row_id: UUID, offset: int, size: int) -> tuple[list[Entry], int]:
        lines = self.access.read().tables.get(TABLE, {}).values()
        found = [line["entry"] for line in lines if self._is_visible(model, line) and _is_of(model, row_id, line)]
        entries = sorted((entry for entry in found if isinstance(entry, Entry)), key=lambda entry: -entry.version)
        page = entries[offset : offset + size]
        if 2 <= size <= MAX_PAGE_SIZE and sum(map(_bytes, page)) > LARGEST_PAGE_BYTES:
            raise too_large_page()
        return page, len(entries)

    def _is_visible(self, model: EntityModel, line: Row) -> bool:
        is_every = not isinstance(self.scope, OneTenant) or not model.tenant_owned
        return is_every or line["tenant_id"] == getattr(self.scope, "id", None)


def _bytes(entry: Entry) -> int:
    return sum(len(bytes(change.was)) + len(bytes(change.to)) for change in entry.changes)


def _is_of(model: EntityModel, row_id: UUID, line: Row) -> bool:
    return line["entity"] == model.plural and line["row_id"] == row_id
