"""Bulk export and import of rows, with the contract of PostgreSQL's COPY."""

import dataclasses
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from io import StringIO
from uuid import UUID

import msgspec

from adapters.memory.entities.attachments.holding import MemoryHolding
from adapters.memory.entities.history import version_of
from adapters.memory.entities.reading import RowReader
from adapters.memory.entities.records import NO_SUCH_ROW, MemoryRecords
from adapters.memory.entities.rows import VisibleRows, missing, shown
from adapters.memory.entities.state import Row
from adapters.memory.entities.uniques import TakenValues
from adapters.memory.identity.member_rows import member_rows
from adapters.memory.store import Access
from application.ports.entities.files import Loaded, Loading
from application.ports.entities.records import NewRow
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.files.cells import cell_value
from domain.entities.files.csv_rows import Cells, quoted, read_rows
from domain.entities.kinds import TEXTS, Kind
from domain.entities.owning import limits_in
from domain.entities.query.kinds import ignores_case
from domain.entities.query.matching import without_case
from domain.entities.query.query import Path, Query
from domain.entities.sheets import (
    MOST_ERRORS,
    BrokenRow,
    Column,
    Form,
    RowError,
    escaped,
    exported_columns,
    not_own,
    not_writable,
    stale,
)
from domain.errors import BadRequest, FieldError
from domain.scope import EveryTenant, OneTenant, Scope


@dataclass(frozen=True)
class MemoryTransfers:
    access: Access
    registry: Registry
    scope: Scope

    async def pieces(self, model: EntityModel, query: Query, form: Form) -> AsyncGenerator[bytes, None]:
        reading = RowReader(self._rows)
        if form == "json":
            rows = [bytes(reading.item(model, row, query.view)) for row in reading.all(model, query)]
            yield b"[" + b",\n".join(rows) + (b"\n]\n" if rows else b"]\n")
            return
        is_every = isinstance(self.scope, EveryTenant)
        columns = exported_columns(self.registry, model, query.view, shows_tenant=is_every)
        if form == "csv":
            yield (",".join(_header_cell(column.name) for column in columns) + "\r\n").encode()
        for row in reading.all(model, query):
            cells = [
                _cell(column, reading.value(model, row, Path(column.steps, column.field.name)), form)
                for column in columns
            ]
            yield (",".join(cells) + ("\r\n" if form == "csv" else "\n")).encode()

    async def count(self, model: EntityModel, query: Query, most: int) -> int:
        reading = RowReader(self._rows)
        return min(most, len(reading.all(model, query)))

    async def load(self, model: EntityModel, rows: AsyncIterator[bytes], loading: Loading) -> Loaded:
        if model.tenant_owned and not isinstance(self.scope, OneTenant):
            raise BadRequest("Rows of tenants are written in one tenant at a time.")
        text = b"".join([piece async for piece in rows]).decode()
        async with self.access.write() as store:
            records = MemoryRecords(store.tables, self.registry, self.scope, member_rows(store, self.scope))
            return await _Load(records, model, loading).run(read_rows(StringIO(text, newline="")))

    @property
    def _rows(self) -> VisibleRows:
        store = self.access.read()
        return VisibleRows(store.tables, self.registry, self.scope, member_rows(store, self.scope))


def _header_cell(name: str) -> str:
    return quoted(name) if any(sign in name for sign in ',"\r\n') else name


def _cell(column: Column, value: object, form: Form) -> str:
    if value is None:
        return ""
    text = _text(column.field, value)
    if form == "csv" and column.field.kind in TEXTS:
        text = escaped(text)
    return quoted(text) if not text or any(sign in text for sign in ',"\r\n') else text


@dataclass(frozen=True)
class ImportedRow:
    """A row of a file, with values as in the entity's struct.

    ``given`` has a ``1`` for each field that an upsert changes, and a ``2`` for each field that it compares.
    ``refused`` is the error, as JSON, of the row as a new row. ``version`` is the version in the file.
    """

    number: int
    id: UUID
    given: str | None
    refused: str | None
    version: int | None
    values: Mapping[str, object]


@dataclass
class _Load:
    records: MemoryRecords
    model: EntityModel
    loading: Loading
    _taken: TakenValues = dataclasses.field(init=False)
    _by_key: dict[object, object] = dataclasses.field(init=False)
    _files: MemoryHolding = dataclasses.field(init=False)

    async def run(self, rows: Iterator[Cells]) -> Loaded:
        self._files = self.records.holding(self.model, self.loading.act)
        self._taken = TakenValues(self.model, self._rows.whole().of(self.model))
        self._by_key = {key: row["id"] for row in self._rows.of(self.model) if (key := self._key(row)) is not None}
        incoming = [self._incoming(cells) for cells in rows]
        errors = list(self._errors(incoming))
        wrong = {error.row for error in errors}
        imported: set[int] = set()
        seen: set[object] = set()
        for row in incoming:
            # Of two rows with one key, the first is stored, as in PostgreSQL.
            if row.number not in wrong and self._is_first(row, seen) and await self._store(row, errors):
                imported.add(row.number)
        errors.sort(key=lambda error: error.row)
        left = imported | {error.row for error in errors}
        skipped = tuple(row.number for row in incoming if row.number not in left)
        return Loaded(len(imported), len(skipped), errors[:MOST_ERRORS], len(errors), skipped[:MOST_ERRORS])

    def _incoming(self, cells: Cells) -> ImportedRow:
        number, row_id, *rest = cells
        upserted = self.loading.key is not None
        given, refused, version = (rest[0], rest[1], rest[2]) if upserted else (None, None, None)
        fields = rest[3:] if upserted else rest
        values = {field.name: _value(field, cell) for field, cell in zip(self.model.declared, fields, strict=True)}
        return ImportedRow(
            int(number or 0), UUID(row_id or ""), given, refused, int(version) if version else None, values
        )

    def _errors(self, incoming: Sequence[ImportedRow]) -> Iterator[RowError]:
        for row in incoming:
            before = self._stored_row(row)
            # A row without a required field may still change a stored row.
            if row.refused is not None and before is None:
                yield msgspec.json.decode(row.refused, type=RowError)
            elif (is_loss := self._is_loss(row, before)) is not None:
                yield not_own(row.number, self.model, None if before is None else row.given, is_loss=is_loss)
            elif before is not None and row.version is not None and row.version < (stored := version_of(before)):
                yield stale(row.number, row.version, stored)
            elif before is not None and (changed := self._changed(row, before)):
                yield not_writable(row.number, self.model, changed)
            elif missing := list(self._missing(row, before)):
                yield RowError.on(row.number, missing)
            elif before is not None and (broken := self._broken(row, before)):
                yield BrokenRow.on(row.number, broken)

    def _changed(self, row: ImportedRow, before: Row) -> list[str]:
        sent = {name for name, flag in zip(self.model.names, row.given or "", strict=False) if flag == "2"}
        seen = shown(self._rows, self.model, before)
        return [name for name in self.loading.kept if name in sent and row.values[name] != seen[name]]

    def _is_loss(self, row: ImportedRow, before: Row | None) -> bool | None:
        """Return False if the stored row is not own, True if the row would not be own after the write, else None."""
        limits = limits_in(self.records.scope)
        if before is not None and not self.records.may(self.model, before, "update"):
            return False
        asks = limits.ask_of_new(self.model) if before is None else limits.ask_of_change(self.model, self.model.names)
        after = dict(row.values) if before is None else {**before, **self._changes(row)}
        action = "create" if before is None else "read"
        return True if asks and not self._rows.is_own(self.model, after, action) else None

    def _missing(self, row: ImportedRow, before: Row | None) -> Iterator[FieldError]:
        row_id = row.id if before is None else _id(before)
        wrong = {field.name for field, _ in self._files.wrong(row_id, row.values)}
        for field in self.model.declared:
            if field.attachment is not None:
                if field.name in wrong:
                    yield FieldError(field.wire, NO_SUCH_ROW)
                continue
            is_missing = missing(self._rows, field, dict(row.values), before) if field.link is not None else []
            if is_missing or not self.records.is_stored(field, dict(row.values), before):
                yield FieldError(field.wire, NO_SUCH_ROW)

    @property
    def _rows(self) -> VisibleRows:
        return self.records.visible.for_writes()

    def _broken(self, row: ImportedRow, before: Row) -> list[FieldError]:
        seen = shown(self._rows, self.model, before)
        return self.model.broken_rules({**seen, **self._changes(row)}, seen)

    def _stored_row(self, incoming: ImportedRow) -> Row | None:
        row_id = self._by_key.get(self._key(incoming.values))
        return self._rows.get(self.model, row_id) if isinstance(row_id, UUID) else None

    def _key(self, values: Mapping[str, object]) -> object:
        field = self.loading.key
        if field is None or values[field.name] is None:
            return None
        return without_case(values[field.name]) if ignores_case(self.model, field) else values[field.name]

    def _is_first(self, row: ImportedRow, seen: set[object]) -> bool:
        key = self._key(row.values)
        if key is None:
            return True
        is_first = key not in seen
        seen.add(key)
        return is_first

    def _changes(self, row: ImportedRow) -> dict[str, object]:
        given, key = row.given or "", self.loading.key
        # Do not change the key, so that its stored case remains.
        fields = (field for n, field in enumerate(self.model.declared) if given[n : n + 1] == "1")
        return {field.name: row.values[field.name] for field in fields if field != key}

    async def _store(self, row: ImportedRow, errors: list[RowError]) -> bool:
        """Return whether the row was stored; add a rule's refusal to ``errors``."""
        before, act = self._stored_row(row), self.loading.act
        if before is None:
            after = self.records.new_row(self.model, NewRow(row.id, row.values), act)
        else:
            after = self.records.changed_row(self.model, before, self._changes(row), act)
        # Skip a row with another unique value in use, like ON CONFLICT DO NOTHING.
        if not self._taken.replace(before, after):
            return False
        sent = row.values if before is None else self._changes(row)
        if (rule := self.loading.rule) is None:
            self._files.settle(_id(after), sent)
            self.records.put(self.model, [after], [before], act)
            return True
        tables = {name: dict(rows) for name, rows in self.records.tables.items()}
        self._files.settle(_id(after), sent)
        self.records.put(self.model, [after], [before], act)
        row_id = row.id if before is None else _id(before)
        seen = before and shown(self._rows, self.model, before)
        if broken := await rule(row_id, seen and {name: seen[name] for name in self.model.names}):
            errors.append(BrokenRow.on(row.number, broken))
            self.records.tables.clear()
            self.records.tables.update(tables)
            self._taken.undo(before, after)
        return not broken


def _id(row: Row) -> UUID:
    row_id = row["id"]
    assert isinstance(row_id, UUID)
    return row_id


def _value(field: FieldModel, cell: str | None) -> object:
    if cell is None:
        return None
    value = Decimal(cell) if field.kind is Kind.DECIMAL else cell_value(field, cell)
    if field.kind is Kind.TIMESTAMP:
        return datetime.fromisoformat(cell)
    return msgspec.convert(value, field.type)


def _text(field: FieldModel, value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, Decimal) and field.money is not None:
        return f"{value:.{field.money.scale}f}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        # PostgreSQL writes the number 1.0 as 1.
        return repr(value).removesuffix(".0")
    if isinstance(value, list):
        return msgspec.json.encode(value).decode()
    return str(value.value if isinstance(value, Enum) else value)
