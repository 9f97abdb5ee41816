"""Rows visible to a scope. No other module of this adapter decides the visibility."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from msgspec.structs import replace

from adapters.memory.entities.state import Row, Tables
from domain.entities.declaration import EntityModel, Registry, Relation
from domain.entities.markers import Mine, OwnRule
from domain.entities.owning import limits_in, without_limits
from domain.scope import OneTenant, OwnRows, Scope


@dataclass(frozen=True)
class VisibleRows:
    """Rows within a scope."""

    tables: Tables
    registry: Registry
    scope: Scope

    def of(self, model: EntityModel, *, include_deleted: bool = False) -> Iterator[Row]:
        rows = self.tables.get(model.table, {}).values()
        return (row for row in rows if self._is_visible(model, row) and (include_deleted or is_living(row)))

    def get(self, model: EntityModel, row_id: UUID, *, include_deleted: bool = False) -> Row | None:
        row = self.tables.get(model.table, {}).get(row_id)
        if row is None or not self._is_visible(model, row):
            return None
        return row if include_deleted or is_living(row) else None

    def related(self, row: Row, relation: Relation) -> list[Row]:
        """Return a relation's rows, at most one for to-one; no deleted rows and none of other tenants."""
        target = self.registry.target(relation)
        if relation.is_many:
            return [
                other
                for other in self.of(target)
                if other[relation.by] == row["id"] and are_in_same_tenant(target, row, other)
            ]
        key = row[relation.by]
        found = self.get(target, key) if isinstance(key, UUID) else None
        return [found] if found is not None and are_in_same_tenant(target, row, found) else []

    def for_writes(self) -> "VisibleRows":
        """Rows that a write looks for: references may name any shared row, whomever it is shared with."""
        scope = replace(self.scope, sees_all=True) if isinstance(self.scope, OneTenant) else self.scope
        return VisibleRows(self.tables, self.registry, scope)

    def whole(self) -> "VisibleRows":
        """All rows of the tenant, without limits to own rows."""
        return VisibleRows(self.tables, self.registry, without_limits(self.scope))

    def seen_for_good(self) -> "VisibleRows":
        """Rows that a caller may purge: all that they see, deleted or not."""
        scope = replace(self.scope, touches=frozenset()) if isinstance(self.scope, OwnRows) else self.scope
        return VisibleRows(self.tables, self.registry, scope)

    def is_own(self, model: EntityModel, row: Row) -> bool:
        """Return whether an ownership rule of the entity holds for the caller."""
        assert isinstance(self.scope, OwnRows)
        return any(self._holds(model, rule, row, self.scope.user_id) for rule in model.declaration.own)

    def _holds(self, model: EntityModel, rule: OwnRule, row: Row, user_id: UUID) -> bool:
        if isinstance(rule, Mine):
            return row[rule.field] == user_id
        first, whole = model.relations[rule.to_one], self.whole()
        second = self.registry.target(first).relations[rule.to_many]
        nears = whole.related(row, first)
        return any(far[rule.field] == user_id for near in nears for far in whole.related(near, second))

    def _is_within_limits(self, model: EntityModel, row: Row) -> bool:
        if not isinstance(self.scope, OwnRows):
            return True
        limits = limits_in(self.scope)
        hides = limits.hide(model) or (limits.bind(model, "delete") and not is_living(row))
        return not hides or self.is_own(model, row)

    def _is_visible(self, model: EntityModel, row: Row) -> bool:
        # Security: in this adapter, only this line isolates tenants.
        if not isinstance(self.scope, OneTenant):
            return True
        if model.tenant_owned:
            return row["tenant_id"] == self.scope.id and self._is_within_limits(model, row)
        return self.scope.sees_all or _is_shared(model, row, self.scope.id)


def _is_shared(model: EntityModel, row: Row, tenant_id: UUID) -> bool:
    """Whether a row that is not a tenant's own is shared with this one."""
    name = model.declaration.shared_with
    tenants = None if name is None else row[name]
    return tenants is None or (isinstance(tenants, list) and tenant_id in tenants)


def is_living(row: Row) -> bool:
    return not row.get("is_deleted")


def are_in_same_tenant(target: EntityModel, row: Row, other: Row) -> bool:
    """Return whether both rows belong to one tenant; a shared row belongs to all."""
    return not target.tenant_owned or row["tenant_id"] == other["tenant_id"]
