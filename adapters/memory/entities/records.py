"""Rows of entities in dictionaries, with the contract of PostgreSQL's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from adapters.memory.entities.attachments.holding import MemoryHolding
from adapters.memory.entities.changes.log import log_change
from adapters.memory.entities.history import record, touched, version_of
from adapters.memory.entities.reading import RowReader
from adapters.memory.entities.removing import MemoryRemoval
from adapters.memory.entities.restoring import MemoryRestoring
from adapters.memory.entities.rows import VisibleRows, is_living, missing, shown, stored
from adapters.memory.entities.state import Row, Tables
from adapters.memory.entities.uniques import TAKEN, taken_rows
from application.ports.entities.history import Action
from application.ports.entities.records import (
    Act,
    Change,
    Current,
    NewRow,
    Restored,
    RowPage,
    Stored,
    Values,
    Versions,
    is_wanted,
)
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.owning import limits_in, not_yours
from domain.entities.query.query import WHOLE, Query, View
from domain.entities.query.responses import LARGEST_PAGE_BYTES, too_large_batch
from domain.errors import (
    BadRequest,
    Conflict,
    FieldError,
    Forbidden,
    NotFound,
    NotOwn,
    NotYours,
    PreconditionFailed,
    ValidationError,
)
from domain.scope import OneTenant, Scope

NO_SUCH_ROW = "refers to nothing that exists"


@dataclass(frozen=True)
class MemoryRecords:
    """Reads and writes within a scope; ``tables`` change only after every check of a call has passed."""

    tables: Tables
    registry: Registry
    scope: Scope
    members: Mapping[UUID, Row] = field(default_factory=dict)

    async def get(self, model: EntityModel, row_id: UUID, view: View) -> Stored | None:
        return RowReader(self.visible).get(model, row_id, view)

    async def page(self, model: EntityModel, query: Query) -> RowPage:
        return RowReader(self.visible).page(model, query)

    async def current(
        self,
        model: EntityModel,
        ids: Sequence[UUID],
        *,
        locked: bool = True,  # noqa: ARG002  # transactions run one after the other
        shares: bool = False,  # noqa: ARG002  # as above
        is_bounded: bool = False,
    ) -> dict[UUID, Current]:
        self._ensure_one_tenant(model)
        rows = {row_id: self._rows.get(model, row_id) for row_id in sorted(set(ids))}
        rows = {row_id: row for row_id, row in rows.items() if row is None or self.may(model, row, "update")}
        if is_bounded:
            _ensure_room([row for row in rows.values() if row is not None])
        return {
            row_id: _current(model, shown(self._rows, model, row)) for row_id, row in rows.items() if row is not None
        }

    async def add(self, model: EntityModel, rows: Sequence[NewRow], act: Act) -> list[Stored]:
        self._ensure_one_tenant(model)
        files = self._ensure_files(model, rows, act)
        self._ensure_references(model, [dict(row.values) for row in rows], [None] * len(rows))
        new_rows = [self.new_row(model, row, act) for row in rows]
        if limits_in(self.scope).ask_of_new(model):
            self.ensure_own_after(model, new_rows, [row.values for row in rows])
        self._ensure_unique(model, new_rows)
        _settle(files, rows)
        return self.put(model, new_rows, [None] * len(new_rows), act)

    async def change(self, model: EntityModel, changes: Sequence[Change], act: Act) -> list[Stored]:
        self._ensure_one_tenant(model)
        found = [self._rows.get(model, change.id) for change in changes]
        sent = [dict(change.values) for change in changes]
        files = self._ensure_files(model, changes, act)
        self._ensure_references(model, sent, found)
        # Check in PostgreSQL's order: references, missing rows, own rows, versions, unique values.
        _ensure_found(found)
        before = [row for row in found if row is not None]
        self._ensure_own(model, before)
        _ensure_versions(changes, before)
        changed = [self.changed_row(model, row, values, act) for row, values in zip(before, sent, strict=True)]
        if limits_in(self.scope).ask_of_change(model, {name for values in sent for name in values}):
            self.ensure_own_after(model, changed, sent)
        self._ensure_unique(model, changed)
        _ensure_room(changed)
        _settle(files, changes)
        return self.put(model, changed, before, act)

    async def remove(self, model: EntityModel, ids: Sequence[UUID], act: Act, version: Versions) -> list[UUID]:
        self._ensure_one_tenant(model)
        living = [row_id for row_id in dict.fromkeys(ids) if self._rows.get(model, row_id) is not None]
        found = [row for row_id in living if (row := self._rows.get(model, row_id)) is not None]
        if refused := [row_id for row_id, row in zip(living, found, strict=True) if not self.may(model, row, "delete")]:
            raise NotOwn(living, refused)
        if not all(is_wanted(version, version_of(row)) for row in found):
            raise PreconditionFailed
        self._removal(act).remove(model, found, is_final=False)
        return living

    async def purge(self, model: EntityModel, ids: Sequence[UUID], act: Act, version: Versions) -> list[UUID]:
        self._ensure_one_tenant(model)
        # A caller may purge every row that they see.
        seen = self._rows.seen_for_good()
        rows = {row_id: seen.get(model, row_id, include_deleted=True) for row_id in dict.fromkeys(ids)}
        found = {row_id: row for row_id, row in rows.items() if row is not None}
        if not all(is_wanted(version, version_of(row)) for row in found.values()):
            raise PreconditionFailed
        self._removal(act).remove(model, list(found.values()), is_final=True)
        return list(found)

    async def restore(self, model: EntityModel, row_id: UUID, act: Act, version: Versions = None) -> Restored:
        self._ensure_one_tenant(model)
        row = self._rows.get(model, row_id, include_deleted=True)
        if row is None:
            raise NotFound
        if not self.may(model, row, "delete"):
            raise Forbidden
        if not (is_living(row) or is_wanted(version, version_of(row))):
            raise PreconditionFailed
        along = MemoryRestoring(self.tables, self.registry, act).restore(model, row)
        restored = self.tables[model.table][row_id]
        # The caller does not see all targets of its links.
        body = RowReader(self._rows).item(model, restored, WHOLE)
        return Restored(row_id, version_of(restored), body, along)

    @property
    def visible(self) -> VisibleRows:
        return VisibleRows(self.tables, self.registry, self.scope, self.members)

    @property
    def _rows(self) -> VisibleRows:
        return self.visible.for_writes()

    def _removal(self, act: Act) -> MemoryRemoval:
        tenant = self.scope.id if isinstance(self.scope, OneTenant) else None
        return MemoryRemoval(self.tables, self.registry, act, tenant)

    def _tenant(self, model: EntityModel) -> UUID | None:
        return self.scope.id if model.tenant_owned and isinstance(self.scope, OneTenant) else None

    def _ensure_one_tenant(self, model: EntityModel) -> None:
        if model.tenant_owned and not isinstance(self.scope, OneTenant):
            raise BadRequest("Rows of tenants are written in one tenant at a time.")

    def new_row(self, model: EntityModel, row: NewRow, act: Act) -> Row:
        """Return the new row to store."""
        acted = {"created_at": act.at, "updated_at": act.at, "created_by": act.by, "updated_by": act.by}
        own = {**acted, "is_deleted": False, "deleted_at": None, "deleted_by": None, "version": 1}
        server = {field.name: own[field.name] for field in model.fields if field.name in own and field.server_owned}
        declared = stored(self._rows, model, {field.name: row.values[field.name] for field in model.declared})
        return {"id": row.id, "tenant_id": self._tenant(model), **declared, **server}

    def changed_row(self, model: EntityModel, row: Row, values: Row, act: Act) -> Row:
        """Return the changed row to store. Without values, it has the same version."""
        return {**row, **stored(self._rows, model, values, row), **touched(row, act)} if values else row

    def put(self, model: EntityModel, rows: Sequence[Row], before: Sequence[Row | None], act: Act) -> list[Stored]:
        """Store checked rows, each in place of its ``before``."""
        table = self.tables.setdefault(model.table, {})
        for before_row, row in zip(before, rows, strict=True):
            # A change without values does not change the version, so record no history entry.
            if before_row is None or version_of(before_row) != version_of(row):
                was = None if before_row is None else shown(self._rows, model, before_row)
                now = shown(self._rows, model, row)
                action: Action = "created" if was is None else "changed"
                record(self.tables, model, act, action, (was, now))
                log_change(self.tables, self.registry, model, act, action, (before_row, row))
        ids = {row_id: row for row in rows if isinstance(row_id := row["id"], UUID)}
        table.update(ids)
        # The writer may not see the row any more, and does not see all targets of its links.
        reader = RowReader(self._rows)
        return [Stored(row_id, version_of(row), reader.item(model, row, WHOLE)) for row_id, row in ids.items()]

    def may(self, model: EntityModel, row: Row, action: str) -> bool:
        """Return whether the limits to own rows allow the action on the row."""
        return not limits_in(self.scope).bind(model, action) or self._rows.is_own(model, row, action)

    def _ensure_own(self, model: EntityModel, rows: Sequence[Row]) -> None:
        refused = [number for number, row in enumerate(rows) if not self.may(model, row, "update")]
        if refused:
            fields = [FieldError(named("id", number, len(rows)), NotYours.sentence) for number in refused]
            raise NotYours(fields=fields if len(rows) > 1 else ())

    def ensure_own_after(self, model: EntityModel, rows: Sequence[Row], sent: Sequence[Values]) -> None:
        """Raise Forbidden, on the deciding field, for rows after a write that would not be own."""
        places = ["" if len(rows) == 1 else f"items[{number}]." for number in range(len(rows))]
        lost = [number for number, row in enumerate(rows) if not self._rows.is_own(model, row, "read")]
        if lost:
            raise Forbidden(fields=[not_yours(model, sent[number], places[number]) for number in lost])

    def holding(self, model: EntityModel, act: Act) -> MemoryHolding:
        return MemoryHolding(self.tables, model, self._tenant(model), act)

    def _ensure_files(self, model: EntityModel, rows: Sequence[NewRow | Change], act: Act) -> MemoryHolding:
        files, count = self.holding(model, act), len(rows)
        wrong = [
            FieldError(named(f"{field.wire}[{place}]" if place is not None else field.wire, number, count), NO_SUCH_ROW)
            for number, row in enumerate(rows)
            for field, place in files.wrong(row.id, row.values)
        ]
        if wrong:
            raise ValidationError(fields=wrong)
        return files

    def _ensure_references(self, model: EntityModel, rows: Sequence[Row], before: Sequence[Row | None]) -> None:
        # Omitted fields and nulls refer to nothing.
        wrong = [
            FieldError(named(field.wire, number, len(rows)), NO_SUCH_ROW)
            for number, row in enumerate(rows)
            for field in model.declared
            if not self.is_stored(field, row, before[number])
        ]
        wrong += [
            FieldError(named(f"{field.wire}[{n}]", number, len(rows)), NO_SUCH_ROW)
            for number, (row, was) in enumerate(zip(rows, before, strict=True))
            for field in model.links
            for n in missing(self._rows, field, row, was)
        ]
        if wrong:
            raise ValidationError(fields=wrong)

    def is_stored(self, field: FieldModel, row: Row, before: Row | None) -> bool:
        """Return whether the row refers to a visible row, to none, or to the same row as before, live or dangling."""
        row_id = row.get(field.name)
        if field.reference is None or not isinstance(row_id, UUID):
            return True
        stays = before is not None and before[field.name] == row_id
        if stays and field.reference.may_dangle:
            return True
        rows = self._rows.whole() if stays else self._rows
        return rows.get(self.registry[field.reference.target], row_id) is not None

    def _ensure_unique(self, model: EntityModel, rows: Sequence[Row]) -> None:
        # Compare the final values, so that two rows may swap a value.
        ids = {row["id"] for row in rows}
        others = [row for row in self._rows.whole().of(model) if row["id"] not in ids]
        found = [(unique, list(taken_rows(model, unique, rows, others))) for unique in model.unique]
        # The database reports only the first one for a single row.
        broken = [(unique, taken) for unique, taken in found if taken][: 1 if len(rows) == 1 else None]
        if broken:
            wires = [[model.by_name[name].wire for name in unique.fields] for unique, _ in broken]
            places = [
                (n, wire) for names, (_, taken) in zip(wires, broken, strict=True) for n in taken for wire in names
            ]
            errors = [
                FieldError(named(wire, n, len(rows)), TAKEN) for n, wire in sorted(places, key=lambda place: place[0])
            ]
            raise Conflict("; ".join(f"{' and '.join(names)}: {TAKEN}" for names in wires) + ".", errors)


def _settle(files: MemoryHolding, rows: Sequence[NewRow | Change]) -> None:
    for row in rows:
        files.settle(row.id, row.values)


def named(wire: str, number: int, count: int) -> str:
    """Return a field's name for an error: ``sku``, or ``items[3].sku`` in a batch."""
    return wire if count == 1 else f"items[{number}].{wire}"


def _current(model: EntityModel, row: Row) -> Current:
    return Current(version_of(row), {field.name: row[field.name] for field in model.declared})


def _ensure_room(rows: Sequence[Row]) -> None:
    if len(rows) > 1 and sum(_bytes(value) for row in rows for value in row.values()) > LARGEST_PAGE_BYTES:
        raise too_large_batch()


def _bytes(value: object) -> int:
    if isinstance(value, list):
        return sum(map(_bytes, value))
    return len(value.encode()) if isinstance(value, str) else 0


def _ensure_versions(changes: Sequence[Change], rows: Sequence[Row]) -> None:
    pairs = enumerate(zip(changes, rows, strict=True))
    stale = [number for number, (change, row) in pairs if not is_wanted(change.version, version_of(row))]
    if stale:
        fields = [FieldError(named("version", number, len(rows)), PreconditionFailed.sentence) for number in stale]
        raise PreconditionFailed(fields=fields if len(rows) > 1 else ())


def _ensure_found(found: Sequence[Row | None]) -> None:
    missing = [number for number, row in enumerate(found) if row is None]
    if missing:
        fields = [FieldError(named("id", number, len(found)), NotFound.sentence) for number in missing]
        raise NotFound(fields=fields if len(found) > 1 else ())
