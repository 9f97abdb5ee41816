"""Bringing a deleted row back, and with it what its deletion took along."""

from dataclasses import dataclass, field
from uuid import UUID

from adapters.memory.entities.history import record
from adapters.memory.entities.rows import are_of_one, is_living
from adapters.memory.entities.uniques import TAKEN, taken_rows
from adapters.memory.store import Row, Tables
from application.ports.entities.records import Act
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.errors import Conflict, FieldError

NOT_DELETED = "It is not deleted."
STILL_DELETED = "refers to something deleted, which must be restored first"
TAKEN_MEANWHILE = "Something that was deleted with it has a value that is taken now."
DANGLING = "Something that was deleted with it refers to what is still deleted."


@dataclass
class MemoryRestoring:
    """One act: first it gathers what comes back and looks whether it may, then it does."""

    tables: Tables
    registry: Registry
    act: Act
    _back: dict[tuple[EntityModel, UUID], Row] = field(default_factory=dict)

    def restore(self, model: EntityModel, row: Row) -> None:
        if is_living(row):
            raise Conflict(NOT_DELETED)
        self._gather(model, row, row["id"])
        for (kind, row_id), one in self._back.items():
            self._ensure_unique(kind, one, is_root=(kind, row_id) == (model, row["id"]))
        for (kind, row_id), one in self._back.items():
            self._ensure_references(kind, one, is_root=(kind, row_id) == (model, row["id"]))
        for (kind, row_id), one in self._back.items():
            record(self.tables, kind, self.act, "restored", (self.tables[kind.table][row_id], one))
            self.tables[kind.table][row_id] = one

    def _gather(self, model: EntityModel, row: Row, root: object) -> None:
        row_id, version = row["id"], row["version"]
        assert isinstance(row_id, UUID)
        assert isinstance(version, int)
        alive = {"is_deleted": False, "deleted_at": None, "deleted_by": None, "deleted_with": None}
        acted = {"updated_at": self.act.at, "updated_by": self.act.by, "version": version + 1}
        self._back[model, row_id] = {**row, **alive, **acted}
        for referring, one in self.registry.referring(model.plural):
            if one.reference is not None and one.reference.on_delete == "cascade":
                for other in list(self.tables.get(referring.table, {}).values()):
                    if self._went_along(model, row, (one, other), root) and (referring, other["id"]) not in self._back:
                        self._gather(referring, other, root)

    def _went_along(self, model: EntityModel, row: Row, by: tuple[FieldModel, Row], root: object) -> bool:
        one, other = by
        refers = other[one.name] == row["id"] and are_of_one(model, row, other)
        return refers and not is_living(other) and other.get("deleted_with") == root

    def _ensure_unique(self, model: EntityModel, row: Row, *, is_root: bool) -> None:
        rows = self.tables[model.table].values()
        others = [one for one in rows if is_living(one) and one["tenant_id"] == row["tenant_id"]]
        for unique in model.unique:
            if list(taken_rows(model, unique, [row], others)):
                wires = [model.by_name[name].wire for name in unique.fields]
                if not is_root:
                    raise Conflict(TAKEN_MEANWHILE)
                raise Conflict(f"{' and '.join(wires)}: {TAKEN}.", [FieldError(wire, TAKEN) for wire in wires])

    def _ensure_references(self, model: EntityModel, row: Row, *, is_root: bool) -> None:
        """What comes back together is there for each other."""
        for one in model.declared:
            key = row[one.name]
            if one.reference is None or not isinstance(key, UUID):
                continue
            target = self.registry[one.reference.target]
            found = self._back.get((target, key)) or self.tables.get(target.table, {}).get(key)
            if found is None or not is_living(found):
                raise Conflict.on(one.wire, STILL_DELETED) if is_root else Conflict(DANGLING)
