"""Inserting and updating rows, all or none, and what an answer or an error of the server means for them."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.reading.row_encoder import stored
from adapters.postgres.entities.writing import unique_violations
from adapters.postgres.entities.writing.bulk_statements import (
    array_name,
    current_rows,
    former_name,
    insert_rows,
    presence_name,
    update_rows,
)
from adapters.postgres.entities.writing.single_row_statements import insert_row, is_plain, update_row, value_name
from adapters.postgres.entities.writing.swapping import set_aside, spared_fields
from adapters.postgres.statements.compiled import CompiledStatement
from adapters.postgres.statements.running import fetch, fetch_row
from adapters.postgres.statements.writing import is_list
from application.ports.entities.records import Act, Change, Current, NewRow, Stored, Values
from domain.entities.declaration import EntityModel, FieldModel, Kind, Registry
from domain.errors import FieldError, NotFound, PreconditionFailed, SerializationConflict, ValidationError

NO_SUCH_ROW = "refers to nothing that exists"


@dataclass(frozen=True, slots=True)
class PostgresWriting:
    """Writes of one entity's rows; ``tenant`` is None for entities whose rows all tenants share."""

    connection: ServiceConnection
    registry: Registry
    model: EntityModel
    tenant: UUID | None

    async def current(self, ids: Sequence[UUID], *, locked: bool) -> dict[UUID, Current]:
        statement = current_rows(self.registry, self.model, locked=locked)
        rows = await fetch(self.connection, statement, {"tenant": self.tenant, "ids": list(ids)})
        return {row["id"]: _current(self.model, row) for row in rows}

    async def add(self, rows: Sequence[NewRow], act: Act) -> list[Stored]:
        if len(rows) == 1 and is_plain(self.model) and (added := await self._add_row(rows[0], act)) is not None:
            return [added]
        arrays = {
            array_name(field): _array(field, [row.values[field.name] for row in rows]) for field in self._declared
        }
        try:
            return await self._write(insert_rows(self.registry, self.model), rows, {**self._acted(act), **arrays})
        except unique_violations.PassedOn:
            # the row that had the value is gone by now: the transaction can be tried again
            raise SerializationConflict from None

    async def change(self, changes: Sequence[Change], act: Act) -> list[Stored]:
        if len(changes) == 1 and is_plain(self.model) and (changed := await self._change_row(changes[0], act)):
            return [changed]
        fields = [field for field in self._declared if any(field.name in change.values for change in changes)]
        is_partial = any(len(change.values) < len(fields) for change in changes)
        names = tuple(field.name for field in fields)
        statement = update_rows(self.registry, self.model, names, is_partial=is_partial)
        arrays: dict[str, Sequence[Any]] = {"versions": [change.version for change in changes]}
        for field in fields:
            arrays[array_name(field)] = _array(field, [change.values.get(field.name) for change in changes])
            if is_partial:
                arrays[presence_name(field)] = [field.name in change.values for change in changes]
        values = {**self._acted(act), **arrays}
        try:
            return await self._write(statement, changes, values)
        except unique_violations.PassedOn as error:
            swapped = update_rows(self.registry, self.model, names, is_partial=is_partial, was_set_aside=True)
            return await self._swap(swapped, changes, values, error)

    async def _swap(
        self,
        statement: CompiledStatement,
        changes: Sequence[Change],
        values: Mapping[str, Any],
        error: unique_violations.PassedOn,
    ) -> list[Stored]:
        """Changes rows that pass unique values on to each other: in two steps, which a transaction holds together."""
        aside = set_aside(self.registry, self.model)
        if aside is None:
            raise error.conflict
        ids = [change.id for change in changes]
        try:
            async with self._all_or_none():
                # in the order of all batches, and living: what is set aside could not be told from a deleted row
                rows = await self.current(ids, locked=True)
                if len(rows) < len(ids):
                    raise SerializationConflict
                former = {
                    former_name(field): _array(field, [rows[row_id].values[field.name] for row_id in ids])
                    for field in spared_fields(self.model) or ()
                }
                await fetch(self.connection, aside, {"tenant": self.tenant, "ids": ids})
                answer = await fetch(self.connection, statement, {**values, **former, "ids": ids})
                return _stored(self.model, answer, ids)
        except asyncpg.UniqueViolationError as failure:
            failed = (failure, ids, [change.values for change in changes])
            conflict = await unique_violations.of_many(self.connection, self.registry, self.model, self.tenant, failed)
            raise conflict or error.conflict from None

    @asynccontextmanager
    async def _all_or_none(self) -> AsyncIterator[None]:
        """Several statements that are undone together, inside a transaction and outside of one."""
        if not self.connection.is_in_transaction():
            async with self.connection.transaction():
                yield
            return
        await self.connection.execute("SAVEPOINT swap")
        try:
            yield
        except Exception:
            await self.connection.execute("ROLLBACK TO SAVEPOINT swap")
            raise

    @property
    def _declared(self) -> Sequence[FieldModel]:
        return self.model.declared

    def _acted(self, act: Act) -> dict[str, Any]:
        return {"tenant": self.tenant, "by": act.by, "at": act.at}

    async def _write(
        self, statement: CompiledStatement, rows: Sequence[NewRow | Change], values: Mapping[str, Any]
    ) -> list[Stored]:
        ids = [row.id for row in rows]
        async with self._naming_conflicts(ids, [row.values for row in rows]):
            answer = await fetch(self.connection, statement, {**values, "ids": ids})
        return _stored(self.model, answer, ids)

    async def _add_row(self, row: NewRow, act: Act) -> Stored | None:
        statement = insert_row(self.registry, self.model, self._references(row.values))
        return await self._write_row(statement, row, self._acted(act))

    async def _change_row(self, change: Change, act: Act) -> Stored | None:
        if not change.values:
            # nothing changes, not even the version: the bulk statement answers the row as it is
            return None
        # in the order of the declaration, so that the order in a request's body makes no further statement
        columns = tuple(name for name in self.model.names if name in change.values)
        statement = update_row(self.registry, self.model, columns, self._references(change.values))
        return await self._write_row(statement, change, {**self._acted(act), "version": change.version})

    async def _write_row(
        self, statement: CompiledStatement, row: NewRow | Change, values: Mapping[str, Any]
    ) -> Stored | None:
        sent = {value_name(name): _plain(value) for name, value in row.values.items()}
        try:
            answer = await fetch_row(self.connection, statement, {**values, "id": row.id, **sent})
        except asyncpg.UniqueViolationError as error:
            raise unique_violations.of_single_row(self.model, error) from None
        return None if answer is None else stored(self.model, answer)

    def _references(self, values: Values) -> tuple[str, ...]:
        """Names of the fields with a reference whose value is not null."""
        referring = (field.name for field in self._declared if field.reference is not None)
        return tuple(name for name in referring if values.get(name) is not None)

    @asynccontextmanager
    async def _naming_conflicts(self, ids: Sequence[UUID], values: Sequence[Values]) -> AsyncIterator[None]:
        """Raises Conflict for a unique value that is taken, naming the rows if there are several."""
        several, within = len(ids) > 1, self.connection.is_in_transaction()
        # Looking for the rows takes a further statement, which a failed transaction refuses: the savepoint allows it,
        # and ends with the transaction. Outside a transaction the failed statement has left nothing behind.
        if several and within:
            await self.connection.execute("SAVEPOINT batch")
        try:
            yield
        except asyncpg.UniqueViolationError as error:
            if not several:
                raise unique_violations.of_single_row(self.model, error) from None
            if within:
                await self.connection.execute("ROLLBACK TO SAVEPOINT batch")
            failed = (error, ids, values)
            conflict = await unique_violations.of_many(self.connection, self.registry, self.model, self.tenant, failed)
            raise conflict or unique_violations.PassedOn(self.model, error) from None


def _array(field: FieldModel, values: Iterable[Any]) -> list[Any]:
    if is_list(field):
        return [None if value is None else msgspec.json.encode(value).decode() for value in values]
    if field.kind is Kind.CHOICE:
        return [_plain(value) for value in values]
    return list(values)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def _current(model: EntityModel, row: asyncpg.Record) -> Current:
    return Current(row["version"], {field.name: as_declared(field, row[field.name]) for field in model.declared})


def as_declared(field: FieldModel, value: Any) -> Any:
    """The value as the entity's own struct holds it: ``"draft"`` becomes ``Status.DRAFT``.

    A stored value that the enum does not know any more stays text, so that its row can be mended.
    """
    return msgspec.convert(value, field.type) if value in field.choices else value


def _stored(model: EntityModel, answer: Sequence[asyncpg.Record], ids: Sequence[UUID]) -> list[Stored]:
    """Rows in the order of ``ids``; raises the error of the problems, if the answer has some."""
    wrong = [(row[-1], row[-2] - 1) for row in answer if row[-1] is not None]
    if wrong:
        raise _refusal(model, wrong, len(ids))
    rows = {row.id: row for row in (stored(model, record) for record in answer)}
    return [rows[row_id] for row_id in ids]


def _refusal(model: EntityModel, wrong: Sequence[tuple[str, int]], count: int) -> Exception:
    """Error of the worst problem: a wrong value, then a row that is absent, then another version."""
    values = [(model.by_name[name].wire, n) for name, n in wrong if name not in ("id", "version")]
    if values:
        return ValidationError(
            fields=[FieldError(unique_violations.named(wire, n, count), NO_SUCH_ROW) for wire, n in values]
        )
    absent = [n for name, n in wrong if name == "id"]
    kind, name = (NotFound, "id") if absent else (PreconditionFailed, "version")
    if count == 1:
        return kind()
    places = absent or [n for _, n in wrong]
    return kind(fields=[FieldError(unique_violations.named(name, n, count), kind.sentence) for n in places])
