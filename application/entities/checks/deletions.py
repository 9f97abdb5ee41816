"""Rows that refer to deleted ones: checks of their rules when a reference is cleared, and errors of a refusal."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from uuid import UUID

import msgspec
from msgspec import Struct

from application.ports.entities.records import Current, Records
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.query.query import Condition, Count, Operator, Path, Query, SortKey
from domain.errors import (
    MOST_COUNTED,
    Conflict,
    Error,
    FieldError,
    NotFound,
    NotOwn,
    NotYours,
    Referrer,
    StillReferredTo,
)
from domain.scope import Caller, Rights

_BY_ID = (SortKey(Path((), "id"), descending=False),)
_AT_ONCE = 1_000

ClearedRows = list[tuple[EntityModel, dict[UUID, Current]]]
"""Rows before a deletion clears their references, by entity."""


class _WithId(Struct):
    id: UUID


@dataclass(frozen=True)
class ClearedReferences:
    """Finds rows that a deletion will change, in its transaction; rows of other tenants are excluded."""

    records: Records
    registry: Registry

    async def find(self, model: EntityModel, ids: Sequence[UUID]) -> ClearedRows:
        """Return live rows with a rule affected by the deletion of these rows, directly or through cascades."""
        if not self.registry.deletion_asks_a_rule(model):
            return []
        # Lock the rows first: a concurrent write of a new reference then waits, and finds them deleted.
        await self.records.current(model, ids)
        found: ClearedRows = []
        waiting, seen = [(model, list(ids))], {(model.plural, row_id) for row_id in ids}
        while waiting:
            target, targets = waiting.pop()
            for referring, field, on_delete in self.registry.changed_by_deletion(target):
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


def ensure_found(ids: Sequence[UUID], found: Collection[UUID]) -> None:
    """Raise NotFound naming each missing id as ``ids[2]``."""
    missing = set(ids).difference(found)
    if missing:
        absent = [n for n, row_id in enumerate(ids) if row_id in missing]
        raise NotFound(fields=[FieldError(f"ids[{n}]", NotFound.sentence) for n in absent])


def not_own(ids: Sequence[UUID], error: NotOwn) -> NotYours:
    """Return an error that names each row that is not own as ``ids[2]``."""
    places = [n for n, row_id in enumerate(ids) if row_id in error.refused]
    return NotYours(fields=[FieldError(f"ids[{n}]", NotYours.sentence) for n in places])


def restricted(caller: Caller, registry: Registry, ids: Sequence[UUID], error: StillReferredTo) -> Conflict:
    """Return a Conflict that names every id still referenced, and by what: ``ids[2]`` with "products (3)".

    Omits entities that the caller may not read, and fields hidden from the caller.
    """
    fields = []
    for n, row_id in enumerate(ids):
        if row_id in error.by:
            readable = readable_referrers(registry, caller.rights, error.by[row_id])
            fields.append(FieldError(f"ids[{n}]", naming(readable)))
    return Conflict(error.sentence if len(fields) > 1 else fields[0].message, fields)


def refused_clearing(caller: Caller, registry: Registry, model: EntityModel, error: Error) -> list[FieldError]:
    """Return the fields that a rule of ``model`` refuses to clear, with the entity: ``volumes.genreId``.

    Omits entities that the caller may not read, and fields hidden from the caller.
    """
    if not caller.rights.may(model.permission("read")):
        return []
    hidden = registry.hidden_from(caller.rights)
    # The handler's guards know only the deleted rows' fields; these belong to another entity.
    unseen = {model.by_name[name].wire for plural, name in hidden if plural == model.plural}
    seen = [wrong for wrong in error.fields if not wrong.is_about(unseen)]
    return [FieldError(f"{model.plural}.{wrong.field}", wrong.message) for wrong in seen]


def naming(referrers: Collection[Referrer]) -> str:
    """Return a message with the numbers of rows, ``"products (3)"``; a row with two references counts once."""
    counts = []
    for plural in sorted({each.plural for each in referrers}):
        number = sum(each.count for each in referrers if each.plural == plural)
        counts.append(f"{plural} ({number if number <= MOST_COUNTED else f'more than {MOST_COUNTED}'})")
    return f"Rows still refer to it: {', '.join(counts)}." if counts else StillReferredTo.sentence


def readable_referrers(registry: Registry, rights: Rights, referrers: Iterable[Referrer]) -> list[Referrer]:
    """Return those that a caller with these rights may see, by a field that is not hidden."""
    hidden = registry.hidden_from(rights)
    seen = [each for each in referrers if any((each.plural, name) not in hidden for name in each.fields)]
    # Security: a caller limited to own rows must not learn the number of all rows.
    return [each for each in seen if rights.may(registry[each.plural].permission("read"))]
