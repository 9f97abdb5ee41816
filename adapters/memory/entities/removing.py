"""Deletion of rows, with ``on_delete`` applied to the rows that refer to them."""

import dataclasses
from dataclasses import dataclass
from uuid import UUID

from adapters.memory.entities.attachments.holding import release
from adapters.memory.entities.changes.log import log_change
from adapters.memory.entities.history import record, touched, version_of
from adapters.memory.entities.rows import are_in_same_tenant, is_living, places_of
from adapters.memory.entities.state import Row, Tables, end_shares
from application.ports.entities.history import Action
from application.ports.entities.records import Act
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.errors import StillReferredTo

Key = tuple[EntityModel, UUID]


@dataclass
class MemoryRemoval:
    """A deletion: gathers rows to delete and references to clear, checks, then does both."""

    tables: Tables
    registry: Registry
    act: Act
    tenant: UUID | None
    _deletions: dict[Key, bool] = dataclasses.field(default_factory=dict)
    _roots: dict[Key, UUID] = dataclasses.field(default_factory=dict)
    _cleared: dict[tuple[Key, str], bool] = dataclasses.field(default_factory=dict)
    _restricting: dict[Key, set[tuple[UUID, str | None]]] = dataclasses.field(default_factory=dict)

    def remove(self, model: EntityModel, rows: list[Row], *, is_final: bool) -> None:
        for row in rows:
            self._gather(model, row, is_final=is_final)
        # The same cascade may delete a restricting row. Only the other restricting rows forbid the deletion.
        if forbidding := self._restricting.keys() - self._deletions.keys():
            referring = (
                (root, key[0].plural, key[1], name) for key in forbidding for root, name in self._restricting[key]
            )
            raise StillReferredTo([_key(model, row)[1] for row in rows], StillReferredTo.counted(referring))
        for key, for_good in self._deletions.items():
            if not for_good:
                self._mark(key)
        for (key, name), for_good in self._cleared.items():
            if key not in self._deletions or (for_good and not self._deletions[key]):
                self._clear(key, name)
        for key in [key for key, for_good in self._deletions.items() if for_good]:
            self._purge(key)

    def _gather(self, model: EntityModel, row: Row, *, is_final: bool) -> None:
        root = _key(model, row)[1]
        # A list, because a long chain of rows would exceed the recursion limit.
        waiting = [(model, row, is_final)]
        while waiting:
            model, row, is_final = waiting.pop()
            # Without soft delete, deletion is permanent, also for cascaded rows.
            is_final = is_final or "is_deleted" not in model.by_name
            known = self._deletions.get(_key(model, row))
            if known is not None and (known or not is_final):
                continue
            self._deletions[_key(model, row)] = is_final
            # ``deleted_with`` names the row that caused the cascade. To restore that row restores this row too.
            self._roots.setdefault(_key(model, row), root)
            for referring, field in [*self.registry.referring(model.plural), *self._restricting_links(model)]:
                found = self._referring(model, row, (referring, field), is_final=is_final)
                if field.reference is not None and field.reference.on_delete == "cascade":
                    waiting += [(referring, other, is_final) for other in found]
                else:
                    self._refuse_or_clear((referring, field), found, root, is_final=is_final)

    def _refuse_or_clear(
        self, reference: tuple[EntityModel, FieldModel], found: list[Row], root: UUID, *, is_final: bool
    ) -> None:
        referring, field = reference
        if field.reference is not None and field.reference.on_delete == "clear":
            self._cleared |= {(_key(referring, row), field.name): is_final for row in found}
            return
        for row in found:
            is_ours = row.get("tenant_id") in (None, self.tenant)
            self._restricting.setdefault(_key(referring, row), set()).add((root, field.name if is_ours else None))

    def _referring(
        self, model: EntityModel, row: Row, reference: tuple[EntityModel, FieldModel], *, is_final: bool
    ) -> list[Row]:
        referring, field = reference
        rows = self.tables.get(referring.table, {}).values()
        return [
            other
            for other in rows
            if _refers_to(other, field, row["id"])
            and are_in_same_tenant(model, row, other)
            and (is_final or is_living(other))
        ]

    def _restricting_links(self, model: EntityModel) -> list[tuple[EntityModel, FieldModel]]:
        linking = self.registry.linking(model.plural)
        return [(other, field) for other, field in linking if field.link and field.link.on_delete == "restrict"]

    def _mark(self, key: Key) -> None:
        model, row_id = key
        row = self.tables[model.table][row_id]
        marked = {"is_deleted": True, "deleted_at": self.act.at, "deleted_by": self.act.by}
        with_root = {"deleted_with": self._roots[key], "version": version_of(row) + 1}
        self._store(key, "deleted", {**row, **marked, **with_root})

    def _clear(self, key: Key, name: str) -> None:
        model, row_id = key
        clear(self.tables, self.registry, (model, row_id), name, self.act)

    def _store(self, key: Key, action: Action, changed: Row) -> None:
        model, row_id = key
        before, self.tables[model.table][row_id] = self.tables[model.table][row_id], changed
        record(self.tables, model, self.act, action, (before, changed))
        log_change(self.tables, self.registry, model, self.act, action, (before, changed))

    def _purge(self, key: Key) -> None:
        model, row_id = key
        row = self.tables[model.table][row_id]
        purged = {**row, "version": version_of(row) + 1}
        record(self.tables, model, self.act, "purged", (row, purged))
        log_change(self.tables, self.registry, model, self.act, "purged", (row, purged))
        del self.tables[model.table][row_id]
        for linking, field in self.registry.linking(model.plural):
            for other_id, other in self.tables.get(linking.table, {}).items():
                places = {key: place for key, place in places_of(other, field.name).items() if key != row_id}
                self.tables[linking.table][other_id] = {**other, field.name: places}
        end_shares(self.tables, lambda share: share["entity"] == model.plural and share["row_id"] == row_id)
        release(self.tables, model, row_id, self.act)


def _refers_to(row: Row, field: FieldModel, target: object) -> bool:
    return row[field.name] == target if field.link is None else target in places_of(row, field.name)


def clear(tables: Tables, registry: Registry, key: Key, name: str, act: Act) -> None:
    """Set the row's reference to null."""
    model, row_id = key
    row = tables[model.table][row_id]
    changed = {**row, name: None, **touched(row, act)}
    tables[model.table][row_id] = changed
    record(tables, model, act, "changed", (row, changed))
    log_change(tables, registry, model, act, "changed", (row, changed))


def _key(model: EntityModel, row: Row) -> Key:
    row_id = row["id"]
    assert isinstance(row_id, UUID)
    return model, row_id
