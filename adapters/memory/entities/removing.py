"""Deleting rows, and what their deletion does to the rows that refer to them."""

from dataclasses import dataclass, field
from uuid import UUID

from adapters.memory.entities.history import record
from adapters.memory.entities.rows import are_of_one, is_living
from adapters.memory.store import Row, Tables
from application.ports.entities.history import Action
from application.ports.entities.records import Act
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.errors import Conflict

STILL_REFERRED_TO = "Something still refers to it."

Key = tuple[EntityModel, UUID]


@dataclass
class MemoryRemoval:
    """One act of deleting: first it gathers what goes and what is emptied, then it does both."""

    tables: Tables
    registry: Registry
    act: Act
    _gone: dict[Key, bool] = field(default_factory=dict)
    _roots: dict[Key, UUID] = field(default_factory=dict)
    _cleared: dict[tuple[Key, str], bool] = field(default_factory=dict)
    _restricting: set[Key] = field(default_factory=set)

    def remove(self, model: EntityModel, rows: list[Row], *, is_final: bool) -> None:
        for row in rows:
            self._gather(model, [row], _key(model, row)[1], is_final=is_final)
        if self._restricting - self._gone.keys():
            raise Conflict(STILL_REFERRED_TO)
        gone = {"is_deleted": True, "deleted_at": self.act.at, "deleted_by": self.act.by}
        for key, is_final_too in self._gone.items():
            if not is_final_too:
                self._change(key, "deleted", {**gone, "deleted_with": self._roots[key]})
        for (key, name), of_final in self._cleared.items():
            if key not in self._gone or (of_final and not self._gone[key]):
                self._change(key, "changed", {name: None, "updated_at": self.act.at, "updated_by": self.act.by})
        for key in [key for key, is_final_too in self._gone.items() if is_final_too]:
            self._purge(key)

    def _gather(self, model: EntityModel, rows: list[Row], root: UUID, *, is_final: bool) -> None:
        """``is_final``: they go for good, because what they refer to does; those marked deleted go too."""
        is_final = is_final or "is_deleted" not in model.by_name
        new = [row for row in rows if (known := self._gone.get(_key(model, row))) is None or (is_final and not known)]
        self._gone |= {_key(model, row): is_final for row in new}
        for row in new:
            self._roots.setdefault(_key(model, row), root)
            for referring, one in self.registry.referring(model.plural):
                found = self._referring(model, row, (referring, one), is_final=is_final)
                self._settle((referring, one), found, root, is_final=is_final)

    def _settle(
        self, reference: tuple[EntityModel, FieldModel], found: list[Row], root: UUID, *, is_final: bool
    ) -> None:
        referring, one = reference
        on_delete = one.reference.on_delete if one.reference is not None else "restrict"
        if on_delete == "clear":
            self._cleared |= {(_key(referring, row), one.name): is_final for row in found}
        elif on_delete == "cascade":
            self._gather(referring, found, root, is_final=is_final)
        else:
            self._restricting |= {_key(referring, row) for row in found}

    def _referring(
        self, model: EntityModel, row: Row, reference: tuple[EntityModel, FieldModel], *, is_final: bool
    ) -> list[Row]:
        referring, one = reference
        rows = self.tables.get(referring.table, {}).values()
        return [
            other
            for other in rows
            if other[one.name] == row["id"] and are_of_one(model, row, other) and (is_final or is_living(other))
        ]

    def _change(self, key: Key, action: Action, values: Row) -> None:
        model, row_id = key
        row = self.tables[model.table][row_id]
        changed = {**row, **values, "version": _version(row) + 1}
        self.tables[model.table][row_id] = changed
        record(self.tables, model, self.act, action, (row, changed))

    def _purge(self, key: Key) -> None:
        model, row_id = key
        row = self.tables[model.table].pop(row_id)
        record(self.tables, model, self.act, "purged", (row, {**row, "version": _version(row) + 1}))


def _key(model: EntityModel, row: Row) -> Key:
    row_id = row["id"]
    assert isinstance(row_id, UUID)
    return model, row_id


def _version(row: Row) -> int:
    version = row.get("version", 0)
    assert isinstance(version, int)
    return version
