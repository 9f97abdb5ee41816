"""Operations and upserts on a database, with all rows of its tenant to compare."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec
import pytest

from adapters.memory.clock import MovableClock
from application.entities.guarded_fields import GuardedFields
from application.entities.transactions.operations import Operations
from application.entities.transactions.upserts import Upserted, Upserts, read_upsert
from application.entities.writing import IdempotencyKey, Write, WriteOutcome
from application.ports.entities.records import Stored
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.query import WHOLE, Query, View, default_sort
from domain.errors import Error
from domain.scope import Caller
from tests.contracts.entities.writing.test_writing import ADA, HERE, IDS, Desk

Json = dict[str, Any]
Row = dict[str, Any]


class Counter(Desk):
    """A desk with operations on several entities and upserts."""

    def __init__(self, database: Any, registry: Registry) -> None:
        super().__init__(database, registry)
        self.database: WholeDatabase = database
        self.operations = Operations(database, registry, MovableClock(), IDS)
        self.upserts = Upserts(database, registry, MovableClock(), IDS)

    async def outcome(
        self, *operations: Json, by: Caller = ADA, key: str | None = None
    ) -> WriteOutcome[list[Stored | None]]:
        read = self.operations.read(by, {"operations": list(operations)}, allow)
        once = None if key is None else IdempotencyKey(key, str(operations))
        return await self.operations.apply(Write(caller=by, scope=HERE, idempotency_key=once), read)

    async def apply(self, *operations: Json, by: Caller = ADA) -> list[Row]:
        """The results, an empty one for a deletion."""
        outcome = await self.outcome(*operations, by=by)
        return [{} if stored is None else msgspec.json.decode(stored.body) for stored in outcome.answer]

    async def failure(self, *operations: Json, by: Caller = ADA) -> tuple[type[Error], list[str]]:
        """The error and its fields; nothing was written."""
        before = await self.rows()
        with pytest.raises(Error) as raised:
            await self.apply(*operations, by=by)
        assert await self.rows() == before
        return type(raised.value), [wrong.field for wrong in raised.value.fields]

    async def upsert(
        self, plural: str, key: str, *items: Json, by: Caller = ADA, once: IdempotencyKey | None = None
    ) -> WriteOutcome[Upserted]:
        model = self.registry[plural]
        sent = read_upsert(GuardedFields(model, self.registry), by, {"key": key, "items": list(items)})
        return await self.upserts.upsert(Write(caller=by, scope=HERE, idempotency_key=once), model, sent)

    async def rows(self) -> Mapping[str, bytes]:
        """All rows of the tenant by entity, deleted ones included."""
        found: dict[str, bytes] = {}
        async with self.database.read_only(HERE) as read:
            for model in self.registry:
                if model.declaration.writable:
                    view = View(include_deleted=model.soft_delete)
                    query = Query(view=view, sort=default_sort(model, frozenset()), page_size=100)
                    found[model.plural] = bytes((await read.records.page(model, query)).items)
        return found

    async def row(self, plural: str, row_id: object) -> Row | None:
        async with self.database.read_only(HERE) as read:
            found = await read.records.get(self.registry[plural], UUID(str(row_id)), WHOLE)
        return None if found is None else msgspec.json.decode(found.body)


def allow(_: EntityModel, __: str) -> None:
    """The caller may do everything: tests of HTTP cover permissions."""


def create(entity: str, name: str = "", /, **values: object) -> Json:
    return {"op": "create", "entity": entity, "values": values} | ({"as": name} if name else {})


def change(entity: str, row_id: object, version: int | None = None, /, **values: object) -> Json:
    return {"op": "update", "entity": entity, "id": named(row_id), "version": version, "values": values}


def delete(entity: str, row_id: object, version: int | None = None) -> Json:
    return {"op": "delete", "entity": entity, "id": named(row_id), "version": version}


def restore(entity: str, row_id: object, version: int | None = None) -> Json:
    return {"op": "restore", "entity": entity, "id": named(row_id), "version": version}


def the(name: str) -> Json:
    """The id of an earlier create."""
    return {"$id": name}


def named(row_id: object) -> object:
    return row_id if isinstance(row_id, dict) else str(row_id)
