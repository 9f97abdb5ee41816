"""Histories: one line for each version of a row."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from adapters.memory.entities.matching import plain
from adapters.memory.entities.row_json import encoded, json_object
from adapters.memory.store import Access, Row, Tables
from application.ports.entities.history import Action, Entry, FieldChange
from application.ports.entities.records import Act
from domain.entities.declaration import EntityModel
from domain.scope import OneTenant, Scope

TABLE = "row_history"


def record(tables: Tables, model: EntityModel, act: Act, action: Action, rows: tuple[Row | None, Row]) -> None:
    """``rows`` are the row as it was and as it is; nothing for entities that keep no history."""
    if not model.declaration.history:
        return
    before, after = rows
    lines = tables.setdefault(TABLE, {})
    entry = Entry(_version(after), action, act.at, act.by, tuple(_changes(model, before, after)))
    lines[UUID(int=len(lines) + 1)] = {
        "tenant_id": after["tenant_id"],
        "entity": model.plural,
        "row_id": after["id"],
        "entry": entry,
    }


def _version(row: Row) -> int:
    version = row["version"]
    assert isinstance(version, int)
    return version


def _changes(model: EntityModel, before: Row | None, after: Row) -> list[FieldChange]:
    names = [one.name for one in model.declared]
    was: dict[str, Any] = dict.fromkeys((one.wire for one in model.declared), None)
    was |= {} if before is None else json_object(model, before, names, shows_tenant=False)
    now = json_object(model, after, names, shows_tenant=False)
    return [
        FieldChange(one.wire, encoded(was[one.wire]), encoded(now[one.wire]))
        for one in model.declared
        if plain(None if before is None else before[one.name]) != plain(after[one.name])
    ]


@dataclass(frozen=True)
class MemoryHistory:
    access: Access
    scope: Scope

    async def page(self, model: EntityModel, row_id: UUID, offset: int, size: int) -> tuple[list[Entry], int]:
        lines = self.access.read().tables.get(TABLE, {}).values()
        found = [line["entry"] for line in lines if self._is_seen(model, line) and _is_of(model, row_id, line)]
        entries = sorted((one for one in found if isinstance(one, Entry)), key=lambda one: -one.version)
        return entries[offset : offset + size], len(entries)

    def _is_seen(self, model: EntityModel, line: Row) -> bool:
        is_every = not isinstance(self.scope, OneTenant) or not model.tenant_owned
        return is_every or line["tenant_id"] == getattr(self.scope, "id", None)


def _is_of(model: EntityModel, row_id: UUID, line: Row) -> bool:
    return line["entity"] == model.plural and line["row_id"] == row_id
