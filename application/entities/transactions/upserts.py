"""Upserts: rows that are found by a unique field and changed, or created, all or none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from application.entities.checks.conditional_changes import change_of
from application.entities.guarded_fields import GuardedFields
from application.entities.transactions.joint_write import JointWrite
from application.entities.transactions.parts import WrittenPart
from application.entities.writing import Write, WriteOutcome, replayed_response, store_response, stores_rows
from application.ports.database import Database
from application.ports.entities.idempotency import WriteTransaction
from application.ports.entities.records import NewRow, Stored, Values
from application.ports.runtime import Clock, Ids
from domain.entities.bodies import (
    Body,
    FieldAccess,
    SentChanges,
    read_changes_from,
    read_new_from,
)
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.files.options import keys_of
from domain.entities.query.kinds import ignores_case, is_sortable, lowered
from domain.entities.query.query import Condition, Count, Operator, Path, Query, SortKey, View
from domain.entities.transactions.items import MOST_ITEMS, objects_in, read_each
from domain.errors import Conflict, FieldError, NotFound, SerializationConflict, ValidationError
from domain.scope import Caller

_BY_ID = (SortKey(Path((), "id"), descending=False),)


class Upserted(Struct, frozen=True):
    created: int
    updated: int
    items: list[Stored]


@dataclass(frozen=True)
class UpsertItem:
    """Values of one row; ``key`` is its value of the key field, in lower case where the constraint ignores case."""

    key: Any
    changes: SentChanges
    sent: Body


@dataclass(frozen=True)
class SentUpsert:
    """The rows of a request, with the field that finds stored ones."""

    fields: GuardedFields
    caller: Caller
    key: FieldModel
    items: Sequence[UpsertItem]

    def part(self, places: Sequence[int]) -> WrittenPart:
        return WrittenPart(self.caller, self.fields, "items", places, [self.items[place].sent for place in places])

    def new(self, places: Sequence[int]) -> list[Values]:
        """Read the values of new rows. Raises Forbidden, and ValidationError for missing required fields."""
        may = self.fields.access(self.caller)
        bodies = [(place, self.items[place].sent) for place in places]
        return list(read_each(bodies, (), lambda _, item: read_new_from(self.fields.model, item, may)))


def keys_for(model: EntityModel, may: FieldAccess) -> list[FieldModel]:
    """Return the fields by which an upsert can find rows: unique by themselves, and visible to the caller."""
    fields = (model.by_wire[wire.lower()] for wire in keys_of(model, may))
    return [field for field in fields if is_sortable(field)]


def read_upsert(fields: GuardedFields, caller: Caller, body: Body) -> SentUpsert:
    """Read ``{"key": "sku", "items": […]}``. Raises Forbidden, and ValidationError with the errors of all items."""
    model, may = fields.model, fields.access(caller)
    errors: list[FieldError] = []
    key = _key(model, may, body, errors)
    items, wrong = objects_in({name: value for name, value in body.items() if name != "key"})
    changes = read_each(items, [*errors, *wrong], lambda _, item: read_changes_from(model, item, may))
    assert key is not None, "an error about the key was raised"
    values = [{**each.values, **each.kept}.get(key.name) for each in changes]
    keys = [_compared(model, key, value) for value in values]
    first: dict[object, int] = {}
    for n, value in enumerate(keys):
        if value is None:
            errors.append(FieldError(f"items[{n}].{key.wire}", "is required"))
        elif first.setdefault(value, n) != n:
            errors.append(FieldError(f"items[{n}].{key.wire}", f"is the value of items[{first[value]}] too"))
    if errors:
        raise ValidationError(fields=errors)
    return SentUpsert(
        fields,
        caller,
        key,
        [UpsertItem(*parts) for parts in zip(keys, changes, (item for _, item in items), strict=True)],
    )


@dataclass(frozen=True)
class Upserts:
    database: Database[WriteTransaction]
    registry: Registry
    clock: Clock
    ids: Ids

    @stores_rows
    async def upsert(self, write: Write, model: EntityModel, sent: SentUpsert) -> WriteOutcome[Upserted]:
        """Write all rows or none; return them in the order of the items.

        Raises Conflict on an item with the unique value of another row, also if the caller cannot see that row.
        """
        async with self.database.transaction(write.scope) as tx:
            if (replayed := await replayed_response(tx, write, Upserted, self.clock.now())) is not None:
                return replayed
            found = await _found(tx, model, sent)
            try:
                stored = await self._stored(tx, write, sent, found)
            except NotFound as error:
                # Between the search and the lock, another request hid a row from the caller: search again.
                raise SerializationConflict from error
            answer = Upserted(len(stored) - len(found), len(found), [stored[place] for place in range(len(stored))])
            return await store_response(tx, write, answer, self.clock.now())

    async def _stored(
        self, tx: WriteTransaction, write: Write, sent: SentUpsert, found: Mapping[int, UUID]
    ) -> dict[int, Stored]:
        joint = JointWrite(tx, write, self.registry, self.clock)
        items, model = sent.items, sent.fields.model
        # Insert in key order, so that concurrent requests wait for each other's keys in one order.
        new = sorted((place for place in range(len(items)) if place not in found), key=lambda place: items[place].key)
        values, changed = sent.new(new), list(found)
        stored: dict[int, Stored] = {}
        if changed:
            changes = [(found[place], items[place].changes) for place in changed]
            async with joint.part(sent.part(changed)):
                rows = [change_of(row_id, change.values, None, change.kept) for row_id, change in changes]
                stored |= zip(changed, await joint.writing.change(joint.write, model, rows), strict=True)
        if new:
            async with joint.part(sent.part(new)):
                created = [NewRow(self.ids.new(), row) for row in values]
                stored |= zip(new, (await joint.writing.add(joint.write, model, created)).answer, strict=True)
        try:
            await joint.finish()
        except Conflict as error:
            # Another request has created a row with this key since the search, so search again.
            if any(wrong.field.endswith(f".{sent.key.wire}") for wrong in error.fields):
                raise SerializationConflict from error
            raise
        return stored


async def _found(tx: WriteTransaction, model: EntityModel, sent: SentUpsert) -> dict[int, UUID]:
    """Lock the stored rows with the keys; return their ids by the places of the items."""
    key = sent.key
    values = tuple({**item.changes.values, **item.changes.kept}[key.name] for item in sent.items)
    where = Condition(Path((), key.name), Operator.IN, tuple(map(_plain, values)))
    query = Query(view=View(fields=("id",)), where=(where,), sort=_BY_ID, page_size=MOST_ITEMS, count=Count.NONE)
    ids = [row.id for row in msgspec.json.decode((await tx.records.page(model, query)).items, type=list[_WithId])]
    # The caller sees these rows; the change refuses those that are not own. A locked row may have another key by now.
    rows = await tx.whole_records.current(model, ids, is_bounded=True)
    by_key = {_compared(model, key, row.values[key.name]): row_id for row_id, row in rows.items()}
    return {place: by_key[item.key] for place, item in enumerate(sent.items) if item.key in by_key}


class _WithId(Struct):
    id: UUID


def _key(model: EntityModel, may: FieldAccess, body: Body, errors: list[FieldError]) -> FieldModel | None:
    keys = {field.wire: field for field in keys_for(model, may)}
    given = body.get("key")
    if isinstance(given, str) and given in keys:
        return keys[given]
    errors.append(FieldError("key", f"must be a unique field: {', '.join(keys) or 'there is none'}"))
    return None


def _compared(model: EntityModel, key: FieldModel, value: object) -> Any:
    plain = _plain(value)
    return lowered(plain) if isinstance(plain, str) and ignores_case(model, key) else plain


def _plain(value: object) -> object:
    return value.value if isinstance(value, Enum) else value
