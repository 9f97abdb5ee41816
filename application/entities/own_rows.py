"""Rows of one entity for code of a project's own, read and written as by the entity's generated handlers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, cast
from uuid import UUID

import msgspec
from msgspec import Raw, Struct

from application.entities.batches import Batches
from application.entities.conditional_changes import change_of
from application.entities.crud import Crud
from application.entities.guarded_fields import GuardedFields
from application.entities.writing import Write
from application.ports.entities.records import Change, RowPage, Stored, Versions
from domain.entities.bodies import (
    EVERY_FIELD,
    Body,
    SentChanges,
    Values,
    read_changed_items,
    read_changes_from,
    read_items,
    read_new_from,
)
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.declaration import EntityModel
from domain.entities.exact_values import made_of_json
from domain.entities.query.query import WHOLE, Condition, Path, Query, SortKey, default_sort, whole_order
from domain.errors import Forbidden
from domain.scope import Caller, Scope

E = TypeVar("E", bound=Struct)


class RowsRequest(Protocol):
    """The request that rows are read and written for."""

    @property
    def caller(self) -> Caller: ...

    @property
    def tenant_scope(self) -> Scope: ...

    def wanted_versions(self) -> Versions:
        """Versions of which the request wants to find one stored; None where any will do."""
        ...

    async def next_write(self) -> Write:
        """Caller, tenant and idempotency key of the next write; each write of a request has a key of its own."""
        ...


@dataclass(frozen=True)
class StoredRow(Generic[E]):
    """Row as it is stored: ``row.value.price`` is a declared field, ``row.id`` and ``row.version`` the service's.

    Rows of an entity with ``writable=False`` have no versions: ``version`` is 0. ``value`` has every field, ``body`` is
    the JSON that the caller may see. ``is_replayed`` is True where nothing was written, because the request came before
    under its ``Idempotency-Key``.
    """

    id: UUID
    version: int
    value: E
    body: bytes
    is_replayed: bool = False


@dataclass(frozen=True)
class RowsPage(Generic[E]):
    """Page of rows; ``total`` counts those of all pages. ``shown`` is the page that the caller may see."""

    items: tuple[StoredRow[E], ...]
    total: int | None
    has_next: bool
    query: Query
    shown: RowPage


@dataclass(frozen=True)
class EntityAccess:
    """Entity with all that its Rows need."""

    model: EntityModel
    crud: Crud
    batches: Batches
    fields: GuardedFields


@dataclass(frozen=True)
class Rows(Generic[E]):
    """Rows of one entity that the request's caller may reach: those of their tenant, and those that all tenants share.

    Values are given by Python name: ``await products.update(id, {"status": Status.RETIRED})``. Constraints, rules,
    histories, versions, isolation and ``Idempotency-Key`` hold as for the generated handlers. Permissions do not: the
    policy of the handler has been judged before, and a field with a permission of its own can be read and written.
    """

    access: EntityAccess
    request: RowsRequest

    @property
    def model(self) -> EntityModel:
        """The declaration as it was understood, which ``tx.records`` of TenantDatabase takes."""
        return self.access.model

    @property
    def if_match(self) -> Versions:
        """Version that the header ``If-Match`` names, for ``update``, ``delete`` and ``restore``.

        None where any will do, a frozenset where the header names several.
        """
        return self.request.wanted_versions()

    async def get(self, row_id: UUID) -> StoredRow[E]:
        """Raises NotFound for ids of nothing, of deleted rows and of other tenants' rows."""
        stored = await self.access.crud.get(self.request.tenant_scope, self.access.model, row_id, WHOLE)
        return self._row(stored)

    async def page(
        self, *conditions: Condition, sort: Sequence[str] = (), page: int = 1, page_size: int = 20
    ) -> RowsPage[E]:
        """``await products.page(where("stock", Operator.LT, 5), sort=["-price"])``; names are Python names."""
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
        """Values left out stay. Raises PreconditionFailed where ``version`` is given and another is stored.

        A repeated request under one ``Idempotency-Key`` is not recognised here, as with PUT: it updates once more.
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
        """Creates all of the rows or none, in the order given; an error names the field as ``items[3].sku``."""
        write = await self._write()
        with self.access.fields.concealing(write.caller):
            new = read_items({"items": [self._given(row) for row in values]}, self._read_new)
            written = await self.access.batches.create(write, self.access.model, new)
        return [self._row(stored, is_replayed=written.is_replayed) for stored in written.answer]

    async def update_many(self, values: Mapping[UUID, Mapping[str, object]]) -> list[StoredRow[E]]:
        """Changes all of the rows or none: ``await products.update_many({id: {"stock": 3}, …})``."""
        write = await self._write()
        with self.access.fields.concealing(write.caller):
            items = [{"id": str(row_id), **self._wire(row)} for row_id, row in values.items()]
            read = read_changed_items({"items": items}, self._read_changes)
            changes = [Change(item.id, item.sent.values) for item in read]
            written = await self.access.batches.update(write, self.access.model, changes)
        return [self._row(stored) for stored in written]

    async def delete_many(self, ids: Sequence[UUID]) -> None:
        """Deletes all of the rows or none; an error names those that are missing as ``ids[2]``."""
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
        """Values as a client would send them, so that the same constraints are checked in the same words."""
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
    """Whether code of a project may write the rows, as it may those that its routes only read."""
    # the audit trail is written by the service alone
    return model.declaration.writable or model.struct not in BUILTIN_ENTITIES


def _stored(body: Raw) -> Stored:
    known = msgspec.json.decode(body, type=_Known)
    return Stored(known.id, known.version, body)


class _Known(Struct):
    id: UUID
    version: int = 0
