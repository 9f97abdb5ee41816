"""Atomic inserts and updates of rows, and the meaning of the server's results and errors."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
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
    NOT_OWN,
    NOT_YOURS,
    array_name,
    current_rows,
    former_name,
    insert_rows,
    presence_name,
    update_rows,
)
from adapters.postgres.entities.writing.links_of_rows import links_aside, links_of_rows, with_fresh_links
from adapters.postgres.entities.writing.single_row_statements import insert_row, is_plain, update_row, value_name
from adapters.postgres.entities.writing.unique_swaps import (
    insert_anew,
    lock_table,
    new_name,
    set_aside,
    spared_fields,
    unique_fields,
)
from adapters.postgres.statements.compiled import CompiledStatement
from adapters.postgres.statements.running import fetch, fetch_row
from adapters.postgres.statements.writing import array_of
from application.ports.entities.records import Act, Change, Current, NewRow, Stored, Values
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.owning import Limits, not_yours
from domain.entities.query.responses import too_large_batch
from domain.errors import (
    Error,
    FieldError,
    Forbidden,
    NotFound,
    NotYours,
    PreconditionFailed,
    SerializationConflict,
    ValidationError,
)

NO_SUCH_ROW = "refers to nothing that exists"


@dataclass(frozen=True, slots=True)
class _Swap:
    """Arguments of a batch update that swaps unique values."""

    names: tuple[str, ...]
    changes: Sequence[Change]
    values: Mapping[str, Any]
    is_partial: bool


@dataclass(frozen=True, slots=True)
class PostgresWriting:
    """Writes rows of one entity; ``tenant`` is None for entities with rows that all tenants share.

    ``user`` has the argument of a caller with ``limits`` to own rows.
    """

    connection: ServiceConnection
    registry: Registry
    model: EntityModel
    tenant: UUID | None
    limits: Limits
    user: Mapping[str, Any]

    async def current(
        self, ids: Sequence[UUID], *, locked: bool, shares: bool = False, is_bounded: bool = False
    ) -> dict[UUID, Current]:
        is_bounded = is_bounded and len(ids) > 1
        statement = current_rows(
            self.registry, self.model, self.limits, locked=locked, shares=shares, is_bounded=is_bounded
        )
        with _bounded():
            rows = await fetch(self.connection, statement, {**self._owned, "ids": list(ids)})
            # A second statement, because the first one's snapshot may be older than the rows that it has locked.
            links = await self._links([row["id"] for row in rows])
        return {row["id"]: _current(self.model, row, links.get(row["id"], {})) for row in rows}

    async def _links(self, ids: Sequence[UUID]) -> Mapping[UUID, Values]:
        if not self.model.links:
            return {}
        owned = {**self._owned, "ids": ids}
        return await links_of_rows(self.connection, self.registry, self.model, self.limits, owned)

    async def add(self, rows: Sequence[NewRow], act: Act) -> list[Stored]:
        sets_links = any(row.values[field.name] for row in rows for field in self.model.links)
        is_simple = len(rows) == 1 and is_plain(self.model, sets_links=sets_links)
        if is_simple and (added := await self._add_row(rows[0], act)) is not None:
            return [added]
        arrays = {
            array_name(field): array_of(field, [row.values[field.name] for row in rows]) for field in self._declared
        }
        try:
            return await self._write(
                insert_rows(self.registry, self.model, self.limits), rows, {**self._acted(act), **arrays}
            )
        except unique_violations.PassedOn:
            # The conflicting row is gone, so the transaction can be retried.
            raise SerializationConflict from None

    async def change(self, changes: Sequence[Change], act: Act) -> list[Stored]:
        sets_links = any(field.name in change.values for change in changes for field in self.model.links)
        # Citus refuses functions such as to_char in RETURNING; the bulk statement has them in a SELECT.
        is_simple = (
            len(changes) == 1 and is_plain(self.model, sets_links=sets_links) and not self.connection.is_of_cluster
        )
        if is_simple and (changed := await self._change_row(changes[0], act)):
            return [changed]
        fields = [field for field in self._declared if any(field.name in change.values for change in changes)]
        is_partial = any(len(change.values) < len(fields) for change in changes)
        names = tuple(field.name for field in fields)
        statement = update_rows(self.registry, self.model, self.limits, names, is_partial=is_partial)
        arrays: dict[str, Sequence[Any]] = {"versions": [change.version for change in changes]}
        for field in fields:
            arrays[array_name(field)] = array_of(field, [change.values.get(field.name) for change in changes])
            if is_partial:
                arrays[presence_name(field)] = [field.name in change.values for change in changes]
        values = {**self._acted(act), **arrays}
        try:
            with _bounded():
                return await self._write(statement, changes, values)
        except unique_violations.PassedOn as error:
            swap = _Swap(names, changes, values, is_partial)
            try:
                with _bounded():
                    return await self._swap(swap)
            except asyncpg.UniqueViolationError as failure:
                failed = (failure, [change.id for change in changes], [change.values for change in changes])
                model, tenant = self.model, self.tenant
                conflict = await unique_violations.of_many(self.connection, self.registry, model, tenant, failed)
                raise conflict or error.conflict from None

    async def _swap(self, swap: "_Swap") -> list[Stored]:
        """Update rows that swap unique values, by two statements in one transaction."""
        spared = spared_fields(self.model)
        # A temporary number may be out of range; then the rows are deleted and inserted instead.
        with suppress(asyncpg.NumericValueOutOfRangeError):
            if spared is not None:
                async with self._all_or_none():
                    rows = await self._rows_of(swap)
                    await fetch(self.connection, set_aside(self.registry, self.model, spared), self._these(swap))
                    return await self._brought_back(swap, rows, spared)
        async with self._all_or_none():
            await self.connection.execute(lock_table(self.registry, self.model))
            rows, fields = await self._rows_of(swap), unique_fields(self.model)
            after = {change.id: {**rows[change.id].values, **change.values} for change in swap.changes}
            new = {new_name(field): array_of(field, [row[field.name] for row in after.values()]) for field in fields}
            async with links_aside(self.connection, self.registry, self.model, self._these(swap)):
                await fetch(self.connection, insert_anew(self.registry, self.model), {**self._these(swap), **new})
            return await self._brought_back(swap, rows, fields)

    async def _rows_of(self, swap: "_Swap") -> dict[UUID, Current]:
        # Lock in the order of all batches, and only live rows.
        rows = await self.current([change.id for change in swap.changes], locked=True)
        if len(rows) < len(swap.changes):
            raise SerializationConflict
        return rows

    async def _brought_back(
        self, swap: "_Swap", rows: Mapping[UUID, Current], spared: tuple[FieldModel, ...]
    ) -> list[Stored]:
        names, is_partial = swap.names, swap.is_partial
        statement = update_rows(self.registry, self.model, self.limits, names, is_partial=is_partial, spared=spared)
        ids = [change.id for change in swap.changes]
        former = {
            former_name(field): array_of(field, [rows[row_id].values[field.name] for row_id in ids]) for field in spared
        }
        answer = await fetch(self.connection, statement, {**swap.values, **former, "ids": ids})
        return _stored(self.model, await self._fresh(answer), swap.changes)

    def _these(self, swap: "_Swap") -> dict[str, Any]:
        return {**self._owned, "ids": [change.id for change in swap.changes]}

    @property
    def _owned(self) -> dict[str, Any]:
        return {"tenant": self.tenant, **self.user}

    @asynccontextmanager
    async def _all_or_none(self) -> AsyncIterator[None]:
        """Transaction, or savepoint within one."""
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
        return {"tenant": self.tenant, "by": act.by, "at": act.at, **self.user}

    async def _write(
        self, statement: CompiledStatement, rows: Sequence[NewRow | Change], values: Mapping[str, Any]
    ) -> list[Stored]:
        ids = [row.id for row in rows]
        async with self._naming_conflicts(ids, [row.values for row in rows]):
            answer = await fetch(self.connection, statement, {**values, "ids": ids})
        return _stored(self.model, await self._fresh(answer), rows)

    async def _fresh(self, answer: Sequence[asyncpg.Record]) -> Sequence[Any]:
        return await with_fresh_links(self.model, answer, self._links) if self.model.links else answer

    async def _add_row(self, row: NewRow, act: Act) -> Stored | None:
        statement = insert_row(self.registry, self.model, self.limits, self._references(row.values))
        return await self._write_row(statement, row, self._acted(act))

    async def _change_row(self, change: Change, act: Act) -> Stored | None:
        if not change.values:
            # Nothing changes, so the bulk statement returns the row.
            return None
        # Declaration order, so that the order in a request adds no statement.
        columns = tuple(name for name in self.model.names if name in change.values)
        statement = update_row(self.registry, self.model, self.limits, columns, self._references(change.values))
        return await self._write_row(statement, change, {**self._acted(act), "version": change.version})

    async def _write_row(
        self, statement: CompiledStatement, row: NewRow | Change, values: Mapping[str, Any]
    ) -> Stored | None:
        sent = {value_name(name): _plain(value) for name, value in row.values.items()}
        try:
            answer = await fetch_row(self.connection, statement, {**values, "id": row.id, **sent})
        except asyncpg.UniqueViolationError as error:
            raise unique_violations.of_single_row(self.model, error) from None
        return None if answer is None else stored(self.model, (await self._fresh([answer]))[0])

    def _references(self, values: Values) -> tuple[str, ...]:
        referring = (field.name for field in self._declared if field.reference is not None)
        return tuple(name for name in referring if values.get(name) is not None)

    @asynccontextmanager
    async def _naming_conflicts(self, ids: Sequence[UUID], values: Sequence[Values]) -> AsyncIterator[None]:
        """Raise Conflict for a unique value that another row already has; for a batch, the error names the rows."""
        several, within = len(ids) > 1, self.connection.is_in_transaction()
        # Set a savepoint: without one, PostgreSQL would refuse the statement that finds the conflicting rows, because
        # the transaction has failed.
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


@contextmanager
def _bounded() -> Iterator[None]:
    """Raises ValidationError where rows have too many bytes together."""
    try:
        yield
    except asyncpg.InvalidArgumentForPowerFunctionError:
        raise too_large_batch() from None


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def _current(model: EntityModel, row: asyncpg.Record, links: Values) -> Current:
    values = {field.name: as_declared(field, row[field.name]) for field in model.columns}
    return Current(row["version"], {**values, **{field.name: links.get(field.name, []) for field in model.links}})


def as_declared(field: FieldModel, value: Any) -> Any:
    """Convert the value to the entity's type: ``"draft"`` becomes ``Status.DRAFT``.

    A value unknown to the enum stays text, so that its row can be repaired.
    """
    return msgspec.convert(value, field.type) if value in field.choices else value


def _stored(model: EntityModel, answer: Sequence[Any], sent: Sequence[NewRow | Change]) -> list[Stored]:
    """The written rows in the order of ``sent``. Raises the error of the answer's problems."""
    wrong = [(row[-1], row[-2] - 1) for row in answer if row[-1] is not None]
    if wrong:
        raise _refusal(model, wrong, sent)
    rows = {row.id: row for row in (stored(model, record) for record in answer)}
    return [rows[row.id] for row in sent]


def _refusal(model: EntityModel, wrong: Sequence[tuple[str, int]], sent: Sequence[NewRow | Change]) -> Exception:
    """Return the most severe error: a wrong value, a missing row, a row that is not own, another version, a loss."""
    count, of_rows = len(sent), ("id", NOT_OWN, "version", NOT_YOURS)
    values = [(_wire(model, name), n) for name, n in wrong if name not in of_rows]
    if values:
        return ValidationError(
            fields=[FieldError(unique_violations.named(wire, n, count), NO_SUCH_ROW) for wire, n in values]
        )
    worst = min((name for name, _ in wrong), key=of_rows.index)
    places = [n for name, n in wrong if name == worst]
    if worst == NOT_YOURS:
        place = "" if count == 1 else "items[{}]."
        return Forbidden(fields=[not_yours(model, sent[n].values, place.format(n)) for n in places])
    kind: type[Error] = {"id": NotFound, NOT_OWN: NotYours, "version": PreconditionFailed}[worst]
    if count == 1:
        return kind()
    name = "version" if worst == "version" else "id"
    return kind(fields=[FieldError(unique_violations.named(name, n, count), kind.sentence) for n in places])


def _wire(model: EntityModel, wrong: str) -> str:
    """Return the JSON name of a field, with the place of a link: ``tag_ids 2`` is ``tagIds[2]``."""
    name, _, place = wrong.partition(" ")
    return f"{model.by_name[name].wire}[{place}]" if place else model.by_name[name].wire
