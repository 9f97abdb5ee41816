"""Rows whose reference a deletion clears, so that their own rule is asked about the change."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from uuid import UUID

import msgspec
from msgspec import Struct

from application.ports.entities.records import Current, Records
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.query.query import Condition, Count, Operator, Path, Query, SortKey

_BY_ID = (SortKey(Path((), "id"), descending=False),)
_AT_ONCE = 1_000

ClearedRows = list[tuple[EntityModel, dict[UUID, Current]]]
"""Rows before a deletion, by the entity whose rule is to be asked."""


class _WithId(Struct):
    id: UUID


@dataclass(frozen=True)
class ClearedReferences:
    """Finds rows that a deletion will change, in its transaction; rows of other tenants are not among them."""

    records: Records
    registry: Registry

    async def find(self, model: EntityModel, ids: Sequence[UUID]) -> ClearedRows:
        """Living rows with a rule that the deletion of these rows changes, directly or through cascades."""
        if not leads_to_a_rule(self.registry, model):
            return []
        # Locked first: a row that comes to refer to them waits, and then finds them gone.
        await self.records.current(model, ids)
        found: ClearedRows = []
        waiting, seen = [(model, list(ids))], {(model.plural, row_id) for row_id in ids}
        while waiting:
            target, targets = waiting.pop()
            for referring, field, on_delete in _followed(self.registry, target):
                rows = await self._referring(referring, field, targets)
                if on_delete == "clear" and referring.rules_look_at([field.name]):
                    found.append((referring, await self.records.current(referring, rows)))
                elif on_delete == "cascade":
                    fresh = [row_id for row_id in rows if (referring.plural, row_id) not in seen]
                    seen |= {(referring.plural, row_id) for row_id in fresh}
                    waiting += [(referring, fresh)] if fresh else []
        return found

    async def _referring(self, model: EntityModel, field: FieldModel, targets: Sequence[UUID]) -> list[UUID]:
        where = (Condition(Path((), field.name), Operator.IN, tuple(targets)),)
        found: list[UUID] = []
        for number in count(1):
            query = Query(where=where, sort=_BY_ID, page=number, page_size=_AT_ONCE, count=Count.NONE)
            rows = msgspec.json.decode((await self.records.page(model, query)).items, type=list[_WithId])
            found += [row.id for row in rows]
            if len(rows) < _AT_ONCE:
                break
        return found


def leads_to_a_rule(registry: Registry, model: EntityModel, seen: set[str] | None = None) -> bool:
    """Whether the deletion of such rows clears references that a rule looks at, directly or through cascades."""
    seen = set() if seen is None else seen
    seen.add(model.plural)
    return any(
        (on_delete == "clear" and referring.rules_look_at([field.name]))
        or (on_delete == "cascade" and referring.plural not in seen and leads_to_a_rule(registry, referring, seen))
        for referring, field, on_delete in _followed(registry, model)
    )


def _followed(registry: Registry, model: EntityModel) -> Iterator[tuple[EntityModel, FieldModel, str]]:
    for referring, field in registry.referring(model.plural):
        if field.reference is not None and field.reference.on_delete != "restrict":
            yield referring, field, field.reference.on_delete
