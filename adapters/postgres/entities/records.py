"""The rows of entities: what is written here in sets, and read by way of select."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.reading.row_encoder import stored
from adapters.postgres.entities.reading.select import PostgresSelect
from adapters.postgres.entities.writing import unique_violations, writing
from adapters.postgres.entities.writing.removing import PostgresRemoval, RowsByModel
from adapters.postgres.entities.writing.restoring import PostgresRestoring
from adapters.postgres.entities.writing.writing_one import Held, adding_one, changing_one, is_plain
from application.ports.entities.records import Act, Change, Current, NewRow, RowPage, Stored, Values
from domain.entities.declaration import EntityModel, FieldModel, Kind, Registry
from domain.entities.query.query import Query, View
from domain.errors import BadRequest, FieldError, NotFound, PreconditionFailed, ValidationError
from domain.scope import OneTenant, Scope

NO_SUCH_ROW = "refers to nothing that exists"


@dataclass(frozen=True, slots=True)
class PostgresRecords:
    connection: ServiceConnection
    registry: Registry
    scope: Scope

    async def get(self, model: EntityModel, row_id: UUID, view: View) -> Stored | None:
        return await self._select.get(model, row_id, view)

    async def page(self, model: EntityModel, query: Query) -> RowPage:
        return await self._select.page(model, query)

    @property
    def _select(self) -> PostgresSelect:
        return PostgresSelect(self.connection, self.registry, self.scope)

    async def current(self, model: EntityModel, ids: Sequence[UUID], *, locked: bool = True) -> dict[UUID, Current]:
        rows = await self.connection.fetch(writing.current(model, locked), *self._owner(model), list(ids))
        return {row["id"]: _current(model, row) for row in rows}

    async def add(self, model: EntityModel, rows: Sequence[NewRow], act: Act) -> list[Stored]:
        if len(rows) == 1 and is_plain(model) and (stored := await self._add_one(model, rows[0], act)) is not None:
            return [stored]
        statement = writing.adding(model, self._targets(model.declared))
        arrays = [_array(one, [row.values[one.name] for row in rows]) for one in model.declared]
        ids = [row.id for row in rows]
        async with self._clashing(model, ids, [row.values for row in rows]):
            answer = await self.connection.fetch(statement, *self._owner(model), act.by, act.at, ids, *arrays)
        return _stored(model, answer, ids)

    async def change(self, model: EntityModel, changes: Sequence[Change], act: Act) -> list[Stored]:
        if len(changes) == 1 and is_plain(model) and (stored := await self._change_one(model, changes[0], act)):
            return [stored]
        fields = [one for one in model.declared if any(one.name in change.values for change in changes)]
        is_partial = any(len(change.values) < len(fields) for change in changes)
        names = tuple(one.name for one in fields)
        statement = writing.changing(model, names, self._targets(fields), is_partial)
        arrays = [array for one in fields for array in _changes(one, changes, is_partial)]
        ids, versions = [change.id for change in changes], [change.version for change in changes]
        async with self._clashing(model, ids, [change.values for change in changes]):
            answer = await self.connection.fetch(statement, *self._owner(model), act.by, act.at, ids, versions, *arrays)
        return _stored(model, answer, ids)

    async def _add_one(self, model: EntityModel, row: NewRow, act: Act) -> Stored | None:
        statement = adding_one(model, self._held(model, row.values))
        values = [_plain(row.values[one.name]) for one in model.declared]
        return await self._write_one(model, statement, [act.by, act.at, row.id, *values])

    async def _change_one(self, model: EntityModel, change: Change, act: Act) -> Stored | None:
        """None where nothing was sent, too: then nothing changes."""
        if not change.values:
            return None
        statement = changing_one(model, tuple(change.values), self._held(model, change.values))
        values = map(_plain, change.values.values())
        return await self._write_one(model, statement, [act.by, act.at, change.id, change.version, *values])

    async def _write_one(self, model: EntityModel, statement: str, parameters: Sequence[object]) -> Stored | None:
        try:
            row = await self.connection.fetchrow(statement, *self._owner(model), *parameters)
        except asyncpg.UniqueViolationError as error:
            raise unique_violations.of_one(model, error) from None
        return None if row is None else stored(model, row)

    def _held(self, model: EntityModel, values: Values) -> Held:
        """The references among the values that lead somewhere."""
        return tuple(
            (one.name, self.registry[one.reference.target])
            for one in model.declared
            if one.reference is not None and values.get(one.name) is not None
        )

    async def remove(self, model: EntityModel, ids: Sequence[UUID], act: Act, version: int | None) -> list[UUID]:
        rows, removal = self._rows(model, ids), PostgresRemoval(self.connection, self.scope, self.registry, act)
        gone = set(await removal.remove(rows, version, is_final=False))
        return [one for one in rows.roots if one in gone]

    async def purge(self, model: EntityModel, ids: Sequence[UUID], act: Act, version: int | None) -> list[UUID]:
        rows, removal = self._rows(model, ids), PostgresRemoval(self.connection, self.scope, self.registry, act)
        gone = set(await removal.remove(rows, version, is_final=True))
        return [one for one in rows.roots if one in gone]

    async def restore(self, model: EntityModel, row_id: UUID, act: Act) -> Stored:
        return await PostgresRestoring(self.connection, self.scope, self.registry, act).restore(
            self._rows(model, [row_id])
        )

    def _rows(self, model: EntityModel, ids: Sequence[UUID]) -> RowsByModel:
        return RowsByModel(model, next(iter(self._owner(model)), None), {one: one for one in ids})

    def _owner(self, model: EntityModel) -> list[UUID]:
        """The statement's first parameter, where tenants own the rows."""
        if not model.tenant_owned:
            return []
        if not isinstance(self.scope, OneTenant):
            raise BadRequest("Rows of tenants are written in one tenant at a time.")
        return [self.scope.id]

    def _targets(self, fields: Iterable[FieldModel]) -> writing.Targets:
        return tuple(self.registry[one.reference.target] for one in fields if one.reference is not None)

    @asynccontextmanager
    async def _clashing(self, model: EntityModel, ids: Sequence[UUID], values: Sequence[Values]) -> AsyncIterator[None]:
        """Of one row the constraint's name tells the field; of several we look for the row too. In a transaction a
        savepoint, which ends with it, lets us; a statement that stands alone has left nothing behind.
        """
        several, within = len(ids) > 1, self.connection.is_in_transaction()
        if several and within:
            await self.connection.execute("SAVEPOINT batch")
        try:
            yield
        except asyncpg.UniqueViolationError as error:
            if not several:
                raise unique_violations.of_one(model, error) from None
            if within:
                await self.connection.execute("ROLLBACK TO SAVEPOINT batch")
            raise await unique_violations.of_many(
                self.connection, model, self._owner(model), (error, ids, values)
            ) from None


def _changes(one: FieldModel, changes: Sequence[Change], is_partial: bool) -> list[list[Any]]:
    values = _array(one, [change.values.get(one.name) for change in changes])
    return [values, [one.name in change.values for change in changes]] if is_partial else [values]


def _array(one: FieldModel, values: Iterable[Any]) -> list[Any]:
    if one.kind in writing.LISTS:
        return [None if value is None else msgspec.json.encode(value).decode() for value in values]
    if one.kind is Kind.CHOICE:
        return [_plain(value) for value in values]
    return list(values)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def _current(model: EntityModel, row: asyncpg.Record) -> Current:
    return Current(row["version"], {one.name: _held(one, row[one.name]) for one in model.declared})


def _held(one: FieldModel, value: Any) -> Any:
    """The value as the entity's own struct holds it."""
    return msgspec.convert(value, one.type) if one.kind is Kind.CHOICE else value


def _stored(model: EntityModel, answer: Sequence[asyncpg.Record], ids: Sequence[UUID]) -> list[Stored]:
    """In the order that was asked for; or the error of what was in the way."""
    wrong = [(row[-1], row[-2] - 1) for row in answer if row[-1] is not None]
    if wrong:
        raise _refusal(model, wrong, len(ids))
    rows = {one.id: one for one in (stored(model, row) for row in answer)}
    return [rows[one] for one in ids]


def _refusal(model: EntityModel, wrong: Sequence[tuple[str, int]], count: int) -> Exception:
    """In the order of checks: absent before changed meanwhile, and a wrong value before both."""
    values = [(model.by_name[name].wire, n) for name, n in wrong if name not in ("id", "version")]
    if values:
        return ValidationError(
            fields=[FieldError(unique_violations.named(wire, n, count), NO_SUCH_ROW) for wire, n in values]
        )
    absent = [n for name, n in wrong if name == "id"]
    if absent:
        return NotFound(
            fields=[FieldError(unique_violations.named("id", n, count), NotFound.sentence) for n in absent]
            if count > 1
            else ()
        )
    return PreconditionFailed()
