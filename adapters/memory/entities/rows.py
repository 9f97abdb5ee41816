"""Rows visible to a scope, and their links. No other module of this adapter decides the visibility.


A stored row maps the ids of its linked targets to their places, also of those that a scope does not see.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from msgspec.structs import replace

from adapters.memory.entities.state import SHARES, Row, Tables, share_key
from domain.entities.declaration import EntityModel, FieldModel, Registry, Relation
from domain.entities.markers import Mine, OwnRule
from domain.entities.owning import limits_in, sharing_levels, without_limits
from domain.scope import OneTenant, OwnRows, Scope


@dataclass(frozen=True)
class VisibleRows:
    """Rows within a scope."""

    tables: Tables
    registry: Registry
    scope: Scope
    members: Mapping[UUID, Row] = dataclasses.field(default_factory=dict)

    def of(self, model: EntityModel, *, include_deleted: bool = False) -> Iterator[Row]:
        rows = self._table(model).values()
        return (row for row in rows if self._is_visible(model, row) and (include_deleted or is_living(row)))

    def get(self, model: EntityModel, row_id: UUID, *, include_deleted: bool = False) -> Row | None:
        row = self._table(model).get(row_id)
        if row is None or not self._is_visible(model, row):
            return None
        return row if include_deleted or is_living(row) else None

    def related(self, row: Row, relation: Relation) -> list[Row]:
        """Return a relation's rows, at most one for to-one; no deleted rows and none of other tenants."""
        target = self.registry.target(relation)
        if self.registry[relation.holder].by_name[relation.by].link is not None:
            return self._linked(row, relation, target)
        if relation.is_many:
            return [
                other
                for other in self.of(target)
                if other[relation.by] == row["id"] and are_in_same_tenant(target, row, other)
            ]
        key = row[relation.by]
        if target.declaration.is_view:  # an id is unique within a tenant only
            return [other for other in self.of(target) if other["id"] == key and are_in_same_tenant(target, row, other)]
        found = self.get(target, key) if isinstance(key, UUID) else None
        return [found] if found is not None and are_in_same_tenant(target, row, found) else []

    def _linked(self, row: Row, relation: Relation, target: EntityModel) -> list[Row]:
        if relation.is_link:
            places = places_of(row, relation.by)
            in_order = sorted(places, key=lambda key: (places[key], key))
            found = [far for key in in_order if (far := self.get(target, key)) is not None]
        else:
            found = [far for far in self.of(target) if row["id"] in places_of(far, relation.by)]
        return [far for far in found if are_in_same_tenant(target, row, far)]

    def for_writes(self) -> "VisibleRows":
        """Rows that a write looks for: references may name any shared row, whomever it is shared with."""
        scope = replace(self.scope, sees_all=True) if isinstance(self.scope, OneTenant) else self.scope
        return VisibleRows(self.tables, self.registry, scope, self.members)

    def _table(self, model: EntityModel) -> Mapping[UUID, Row]:
        return self.members if model.declaration.is_view else self.tables.get(model.table, {})

    def whole(self) -> "VisibleRows":
        """All rows of the tenant, without limits to own rows."""
        return VisibleRows(self.tables, self.registry, without_limits(self.scope), self.members)

    def seen_for_good(self) -> "VisibleRows":
        """Rows that a caller may purge: all that they see, deleted or not."""
        scope = replace(self.scope, touches=frozenset()) if isinstance(self.scope, OwnRows) else self.scope
        return VisibleRows(self.tables, self.registry, scope, self.members)

    def is_own(self, model: EntityModel, row: Row, action: str) -> bool:
        """Return whether an ownership rule of the entity, or a share that allows the action, holds for the caller."""
        assert isinstance(self.scope, OwnRows)
        user_id, levels = self.scope.user_id, sharing_levels(model, action)
        if any(self.holds(model, rule, row, user_id) for rule in model.declaration.own):
            return True
        share = self.tables.get(SHARES, {}).get(share_key(self.scope.id, model, row["id"], user_id)) if levels else None
        return share is not None and share["level"] in levels

    def holds(self, model: EntityModel, rule: OwnRule, row: Row, user_id: UUID) -> bool:
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
        if limits.bind(model, "delete") and not is_living(row) and not self.is_own(model, row, "delete"):
            return False
        return not limits.hide(model) or self.is_own(model, row, "read")

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


def places_of(row: Row, name: str) -> dict[UUID, int]:
    """Return the targets of a row's links with their places."""
    places = row[name]
    assert isinstance(places, dict), name
    return places


def is_living(row: Row) -> bool:
    return not row.get("is_deleted")


def are_in_same_tenant(target: EntityModel, row: Row, other: Row) -> bool:
    """Return whether both rows belong to one tenant; a shared row belongs to all."""
    return not target.tenant_owned or row["tenant_id"] == other["tenant_id"]


def shown(rows: VisibleRows, model: EntityModel, row: Row) -> Row:
    """Return the row with lists of the ids that the scope sees; the row itself for entities without links."""
    if not model.links:
        return row
    relations = {relation.by: relation for relation in model.relations.values() if relation.is_link}
    seen = {name: [far["id"] for far in rows.related(row, relation)] for name, relation in relations.items()}
    return {**row, **seen}


def stored(rows: VisibleRows, model: EntityModel, values: Row, before: Row | None = None) -> Row:
    """Return the values to store; links to targets that the scope does not see remain."""
    links: Row = {}
    for field in model.links:
        if field.name not in values:
            continue
        given = cast("Sequence[UUID]", values[field.name])
        seen = () if before is None else cast("Sequence[UUID]", shown(rows, model, before)[field.name])
        unseen = {key: place for key, place in _held(before, field).items() if key not in seen}
        links[field.name] = unseen | {key: place for place, key in enumerate(given, start=1)}
    return {**values, **links}


def missing(rows: VisibleRows, field: FieldModel, values: Row, before: Row | None = None) -> list[int]:
    """Return the positions of given links to targets that the scope does not see, except links of ``before``."""
    assert field.target is not None, field.name
    target, given = rows.registry[field.target], cast("Sequence[UUID]", values.get(field.name, ()))
    held = _held(before, field)
    return [n for n, key in enumerate(given) if rows.get(target, key) is None and key not in held]


def _held(row: Row | None, field: FieldModel) -> Mapping[UUID, int]:
    return {} if row is None else places_of(row, field.name)
