"""Rows of entities in dictionaries: the only place that says whose are seen, and which."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from adapters.memory.store import Row, Tables
from domain.entities.declaration import EntityModel, Registry, Relation
from domain.scope import OneTenant, Scope


@dataclass(frozen=True)
class VisibleRows:
    tables: Tables
    registry: Registry
    scope: Scope

    def of(self, model: EntityModel, *, include_deleted: bool = False) -> Iterator[Row]:
        rows = self.tables.get(model.table, {}).values()
        return (row for row in rows if self._is_seen(model, row) and (include_deleted or is_living(row)))

    def get(self, model: EntityModel, row_id: UUID, *, include_deleted: bool = False) -> Row | None:
        row = self.tables.get(model.table, {}).get(row_id)
        if row is None or not self._is_seen(model, row):
            return None
        return row if include_deleted or is_living(row) else None

    def related(self, row: Row, relation: Relation) -> list[Row]:
        """The living rows, of the row's own tenant, at the end of a relation; of a to-one at most one."""
        target = self.registry.target(relation)
        if relation.is_many:
            return [one for one in self.of(target) if one[relation.by] == row["id"] and are_of_one(target, row, one)]
        key = row[relation.by]
        found = self.get(target, key) if isinstance(key, UUID) else None
        return [found] if found is not None and are_of_one(target, row, found) else []

    def _is_seen(self, model: EntityModel, row: Row) -> bool:
        return not model.tenant_owned or not isinstance(self.scope, OneTenant) or row["tenant_id"] == self.scope.id


def is_living(row: Row) -> bool:
    return not row.get("is_deleted")


def are_of_one(target: EntityModel, row: Row, other: Row) -> bool:
    """Of one tenant; what is shared belongs to every one."""
    return not target.tenant_owned or row["tenant_id"] == other["tenant_id"]
