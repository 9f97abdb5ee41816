"""Restoration of deleted rows with the rows of their cascade."""

import dataclasses
from dataclasses import dataclass
from uuid import UUID

from adapters.memory.entities.changes.log import log_change
from adapters.memory.entities.history import record
from adapters.memory.entities.rows import are_in_same_tenant, is_living
from adapters.memory.entities.state import Row, Tables
from adapters.memory.entities.uniques import TAKEN, taken_rows
from application.ports.entities.records import Act
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.errors import Conflict, FieldError

NOT_DELETED = "It is not deleted."
STILL_DELETED = "refers to something deleted, which must be restored first"
TAKEN_MEANWHILE = "Something that was deleted with it has a value that is taken now."
DANGLING = "Something that was deleted with it refers to what is still deleted."


@dataclass
class MemoryRestoring:
    """A restoration: gathers the rows, checks all of them, then stores them."""

    tables: Tables
    registry: Registry
    act: Act
    _restored: dict[tuple[EntityModel, UUID], Row] = dataclasses.field(default_factory=dict)

    def restore(self, model: EntityModel, row: Row) -> tuple[tuple[str, tuple[UUID, ...]], ...]:
        """Restore the row and the rows that its deletion cascaded to. Return the ids of the cascaded rows by entity."""
        if is_living(row):
            raise Conflict(NOT_DELETED)
        # A list, because a long chain of rows would exceed the recursion limit.
        waiting = [(model, row)]
        while waiting:
            waiting += self._gather(*waiting.pop(), row["id"])
        for (kind, row_id), restored in self._restored.items():
            self._ensure_unique(kind, restored, is_root=(kind, row_id) == (model, row["id"]))
        for (kind, row_id), restored in self._restored.items():
            self._ensure_references(kind, restored, is_root=(kind, row_id) == (model, row["id"]))
        for (kind, row_id), restored in self._restored.items():
            before = self.tables[kind.table][row_id]
            record(self.tables, kind, self.act, "restored", (before, restored))
            log_change(self.tables, self.registry, kind, self.act, "restored", (before, restored))
            self.tables[kind.table][row_id] = restored
        along: dict[str, list[UUID]] = {}
        for kind, row_id in self._restored:
            if (kind, row_id) != (model, row["id"]):
                along.setdefault(kind.plural, []).append(row_id)
        return tuple((plural, tuple(ids)) for plural, ids in along.items())

    def _gather(self, model: EntityModel, row: Row, root: object) -> list[tuple[EntityModel, Row]]:
        """Restore the row and return the rows deleted with it."""
        row_id, version = row["id"], row["version"]
        assert isinstance(row_id, UUID)
        assert isinstance(version, int)
        unmarked = {"is_deleted": False, "deleted_at": None, "deleted_by": None, "deleted_with": None}
        acted = {"updated_at": self.act.at, "updated_by": self.act.by, "version": version + 1}
        self._restored[model, row_id] = {**row, **unmarked, **acted}
        return [
            (referring, other)
            for referring, field in self.registry.referring(model.plural)
            if field.reference is not None and field.reference.on_delete == "cascade"
            for other in self.tables.get(referring.table, {}).values()
            if self._was_cascaded(model, row, (field, other), root) and (referring, other["id"]) not in self._restored
        ]

    def _was_cascaded(self, model: EntityModel, row: Row, by: tuple[FieldModel, Row], root: object) -> bool:
        field, other = by
        refers = other[field.name] == row["id"] and are_in_same_tenant(model, row, other)
        return refers and not is_living(other) and other.get("deleted_with") == root

    def _ensure_unique(self, model: EntityModel, row: Row, *, is_root: bool) -> None:
        rows = self.tables[model.table].values()
        others = [other for other in rows if is_living(other) and other["tenant_id"] == row["tenant_id"]]
        for unique in model.unique:
            if list(taken_rows(model, unique, [row], others)):
                wires = [model.by_name[name].wire for name in unique.fields]
                # Security: the client named only the root, and may not be allowed to see fields of the other rows.
                if not is_root:
                    raise Conflict(TAKEN_MEANWHILE)
                raise Conflict(f"{' and '.join(wires)}: {TAKEN}.", [FieldError(wire, TAKEN) for wire in wires])

    def _ensure_references(self, model: EntityModel, row: Row, *, is_root: bool) -> None:
        for field in model.declared:
            key = row[field.name]
            # The end of a membership clears or refuses references from deleted rows too, or keeps them.
            if field.reference is None or field.reference.on_leave is not None or not isinstance(key, UUID):
                continue
            target = self.registry[field.reference.target]
            # The row may refer to a row that is restored with it.
            found = self._restored.get((target, key)) or self.tables.get(target.table, {}).get(key)
            if found is None or not is_living(found):
                raise Conflict.on(field.wire, STILL_DELETED) if is_root else Conflict(DANGLING)
