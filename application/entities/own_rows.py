"""Rows of one entity for a project's own code, with the same reads and writes as the generated handlers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, cast
from uuid import UUID

import msgspec
from msgspec import Raw, Struct

from application.entities.batches import Batches
from application.entities.checks.conditional_changes import change_of
from application.entities.crud import Crud
from application.entities.guarded_fields import GuardedFields
from application.entities.writing import Write
from application.ports.entities.records import Change, RowPage, Stored, Versions
from domain.entities.bodies import (
    EVERY_FIELD,
    Body,
    SentChanges,
    Values,
    read_changes_from,
    read_new_from,
)
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.declaration import EntityModel
from domain.entities.exact_values import made_of_json
from domain.entities.query.query import WHOLE, Condition, Path, Query, SortKey, default_sort, whole_order
from domain.entities.transactions.items import read_changed_items, read_items
from domain.errors import Forbidden
from domain.scope import Caller, Scope

E = TypeVar("E", bound=Struct)


class RowsRequest(Protocol):
    """The request for which rows are read and written."""

    @property
    def caller(self) -> Caller: ...

    @property
    def tenant_scope(self) -> Scope: ...

    def wanted_versions(self) -> Versions:
        """Return the versions accepted by the request; None for any."""
        ...

    async def next_write(self) -> Write:
        """Return caller, tenant and idempotency key of the next write; each write of a request has a separate key."""
        ...


@dataclass(frozen=True)
class StoredRow(Generic[E]):
    """Stored row: ``row.value.price`` is a declared field, ``row.id`` and ``row.version`` are the service's.

    Rows of an entity with ``writable=False`` have no versions: ``version`` is 0. ``value`` has every field, ``body`` is
    the JSON that the caller may see. ``is_replayed``: nothing was written, because of an earlier request with this
    ``Idempotency-Key``.
    """

    id: UUID
    version: int
    value: E
    body: bytes
    is_replayed: bool = False


@dataclass(frozen=True)
class RowsPage(Generic[E]):
    """Page of rows; ``total`` counts all pages. ``shown`` is the page that the caller may see."""

    items: tuple[StoredRow[E], ...]
    total: int | None
    has_next: bool
    query: Query
    shown: RowPage


@dataclass(frozen=True)
class EntityAccess:
    """Entity with the dependencies of its ``Rows``."""

    model: EntityModel
    crud: Crud
    batches: Batches
    fields: GuardedFields


@dataclass(frozen=True)
class Rows(Generic[E]):
    """Rows of one entity that the caller can access: the tenant's rows, and shared rows.

    Values use Python names: ``await products.update(id, {"status": Status.RETIRED})``. Constraints, rules, histories,
    versions, isolation and ``Idempotency-Key`` apply as in the generated handlers. Permissions do not apply: the
    handler has checked its policy before, and the code may read and write a field with a separate permission.
    """

    access: EntityAccess
    request: RowsRequest

    @property
    def model(self) -> EntityModel:
        """Return the parsed declaration, for use with ``tx.records`` of TenantDatabase."""
        return self.access.model

    @property
    def if_match(self) -> Versions:
        """Return the version in ``If-Match``, for ``update``, ``delete`` and ``restore``.

        None accepts any version, a frozenset accepts several.
        """
        return self.request.wanted_versions()

    async def get(self, row_id: UUID) -> StoredRow[E]:
        """Return the row. Raises NotFound for unknown ids, deleted rows and other tenants' rows."""
        stored = await self.access.crud.get(self.request.tenant_scope, self.access.model, row_id, WHOLE)
        return self._row(stored)

    async def page(
        self, *conditions: Condition, sort: Sequence[str] = (), page: int = 1, page_size: int = 20
    ) -> RowsPage[E]:
        """Return a page: ``await products.page(where("stock", Operator.LT, 5), sort=["-price"])``."""
        query = Query(where=conditions, sort=self._sort(sort), page=page, page_size=page_size)
        found = await self.access.crud.page(self.request.tenant_scope, self.access.model, query)
        rows = tuple(self._row(_stored(body)) for body in msgspec.json.decode(found.items, type=list[Raw]))
        body = b"[" + b",".join(row.body for row in rows) + b"]"
        return RowsPage(
            rows, found.total, found.has_next, query, msgspec.structs.replace(found, items=Raw(body), last=None)
        )

    async def create(self, values: E | Mapping[str, object]) -> StoredRow[E]:
        write = await self._write()
        with self.access.fields.concealing(write.caller):
            new = self._read_new(self._given(values))
            written = await self.access.crud.create(write, self.access.model, new)
        return self._row(written.answer, is_replayed=written.is_replayed)

    async def update(self, row_id: UUID, values: Mapping[str, object], *, version: Versions = None) -> StoredRow[E]:
        """Update a row; omitted values remain. Raises PreconditionFailed if the stored version is not ``version``.

        As with PUT, the service does not recognise a repeated request by its ``Idempotency-Key``: it updates again.
        """
        write = await self._write()
        with self.access.fields.concealing(write.caller):
            change = change_of(row_id, self._read_changes(self._wire(values)).values, version, {})
            return self._row(await self.access.crud.update(write, self.access.model, change))

    async def delete(self, row_id: UUID, *, version: Versions = None) -> None:
        await self.access.crud.delete(await self._write(), self.access.model, row_id, version)

    async def restore(self, row_id: UUID, *, version: Versions = None) -> StoredRow[E]:
        write = await self._write()
        with self.access.fields.concealing(write.caller):
            written = await self.access.crud.restore(write, self.access.model, row_id, version)
        return self._row(written.answer, is_replayed=written.is_replayed)

    async def create_many(self, values: Iterable[E | Mapping[str, object]]) -> list[StoredRow[E]]:
        """Create all rows or none, in the given order; errors name fields as ``items[3].sku``."""
        write = await self._write()
        with self.access.fields.concealing(write.caller):
            new = read_items({"items": [self._given(row) for row in values]}, self._read_new)
            written = await self.access.batches.create(write, self.access.model, new)
        return [self._row(stored, is_replayed=written.is_replayed) for stored in written.answer]

    async def update_many(self, values: Mapping[UUID, Mapping[str, object]]) -> list[StoredRow[E]]:
        """Change all rows or none: ``await products.update_many({id: {"stock": 3}, …})``."""
        write = await self._write()
        with self.access.fields.concealing(write.caller):
            items = [{"id": str(row_id), **self._wire(row)} for row_id, row in values.items()]
            read = read_changed_items({"items": items}, self._read_changes)
            changes = [Change(item.id, item.sent.values) for item in read]
            written = await self.access.batches.update(write, self.access.model, changes)
        return [self._row(stored) for stored in written]

    async def delete_many(self, ids: Sequence[UUID]) -> None:
        """Delete all rows or none; errors name missing rows as ``ids[2]``."""
        await self.access.batches.delete(await self._write(), self.access.model, ids)

    def _row(self, stored: Stored, *, is_replayed: bool = False) -> StoredRow[E]:
        value = made_of_json(self.access.model, stored.body)
        body = self.access.fields.readable(self.request.caller, stored.body)
        return StoredRow(stored.id, stored.version, cast(E, value), body, is_replayed)

    def _read_new(self, body: Body) -> Values:
        return read_new_from(self.access.model, body, EVERY_FIELD)

    def _read_changes(self, body: Body) -> SentChanges:
        return read_changes_from(self.access.model, body, EVERY_FIELD)

    def _given(self, values: E | Mapping[str, object]) -> Body:
        return self._wire(msgspec.structs.asdict(values) if isinstance(values, Struct) else values)

    def _wire(self, values: Mapping[str, object]) -> dict[str, object]:
        """Values as a client would send them, for the same checks and messages."""
        model = self.access.model
        if unknown := values.keys() - set(model.names):
            raise TypeError(f"{model.plural} declare no field {', '.join(sorted(unknown))}.")
        return {model.by_name[name].wire: msgspec.to_builtins(value) for name, value in values.items()}

    def _sort(self, names: Sequence[str]) -> tuple[SortKey, ...]:
        model = self.access.model
        if unknown := {name.removeprefix("-") for name in names} - model.by_name.keys():
            raise TypeError(f"{model.plural} have no field {', '.join(sorted(unknown))} to sort by.")
        keys = [SortKey(Path((), name.removeprefix("-")), name.startswith("-")) for name in names]
        return whole_order(keys) if keys else default_sort(model, frozenset())

    async def _write(self) -> Write:
        if not may_be_written(self.access.model):
            raise Forbidden
        return await self.request.next_write()


def may_be_written(model: EntityModel) -> bool:
    """Return whether a project's code may write the rows, even with read-only routes."""
    # Projects must not write the built-in entities: only the service writes the audit trail.
    return model.declaration.writable or model.struct not in BUILTIN_ENTITIES


def _stored(body: Raw) -> Stored:
    known = msgspec.json.decode(body, type=_Known)
    return Stored(known.id, known.version, body)


class _Known(Struct):
    id: UUID
    version: int = 0
