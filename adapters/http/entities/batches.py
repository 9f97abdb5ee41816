"""The endpoints of many rows at once, all or none."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Protocol
from uuid import UUID

import msgspec
from msgspec import Meta, Struct, defstruct
from msgspec.structs import fields

from adapters.http.bridge import KEY, Bypassing, reaching, replayed, write_of
from adapters.http.entities.bodies import EntityBodies
from adapters.http.entities.rows import may_write, rule_errors, words
from adapters.http.request.body import BATCH_BODY
from adapters.http.request.endpoint import Answer, Call, Endpoint, Method, Shown, entity_limit
from adapters.http.request.old_responses import entity_data
from application.entities.batches import Batches
from application.ports.entities.records import Change
from domain.entities.declaration import EntityModel, Registry

Ids = Annotated[list[UUID], Meta(min_length=1, max_length=1_000)]


class BatchDelete(Struct):
    ids: Ids


class BatchDeleted(Struct):
    deleted: int
    ids: list[UUID]


@dataclass(frozen=True)
class BatchEndpoints:
    model: EntityModel
    batches: Batches
    bodies: EntityBodies

    async def create(self, call: Call) -> Answer:
        caller, items = call.signed_in, self.bodies.new_items(call, call.json(decimals=True))
        with self.bodies.concealing(caller):
            written = await self.batches.create(write_of(call), self.model, items)
        rows = self.bodies.shown_all(caller, [stored.body for stored in written.answer])
        body = b'{"created":%d,"items":%b}' % (len(written.answer), rows)
        return entity_data(call, body, headers=replayed(written.is_replayed))

    async def update(self, call: Call) -> Answer:
        caller, items = call.signed_in, self.bodies.changed_items(call, call.json(decimals=True))
        changes = [Change(item.id, item.values) for item in items]
        with self.bodies.concealing(caller):
            stored = await self.batches.update(write_of(call), self.model, changes)
        rows = self.bodies.shown_all(caller, [one.body for one in stored])
        return entity_data(call, b'{"updated":%d,"items":%b}' % (len(stored), rows))

    async def delete(self, call: Call) -> Answer:
        written = await self.batches.delete(write_of(call), self.model, self.bodies.ids(call, call.json()))
        gone = BatchDeleted(len(written.answer), written.answer)
        return entity_data(call, msgspec.json.encode(gone), headers=replayed(written.is_replayed))


class KeepingBatches(Bypassing, Protocol):
    @property
    def registry(self) -> Registry: ...
    @property
    def batches(self) -> Batches: ...


def batches_endpoints(services: KeepingBatches) -> list[Endpoint]:
    registry = services.registry
    written = (model for model in registry if model.declaration.writable)
    made = (BatchEndpoints(model, services.batches, EntityBodies(model, registry)) for model in written)
    return [reaching(services.cross_tenant_access, endpoint) for one in made for endpoint in _endpoints(one)]


def _endpoints(made: BatchEndpoints) -> list[Endpoint]:
    return [_create(made), _update(made), _delete(made, "DELETE"), _delete(made, "POST")]


def _create(made: BatchEndpoints) -> Endpoint:
    model = made.model
    return Endpoint(
        method="POST",
        path=f"/api/{model.plural}/batch",
        run=made.create,
        policy=may_write(model, "create"),
        limit=entity_limit(model.plural, "create-batch"),
        area="B",
        operation=f"{model.plural}.create-batch",
        tag=model.plural,
        summary=f"Create many {words(model.plural)}, or none",
        description="Every item that fails is named, such as `items[3].price`; the answer keeps the order.",
        shown=(Shown(200, "data", f"{model.name}BatchCreated", ("Idempotent-Replayed",)),),
        body=batch_forms(model)[0],
        largest_body=BATCH_BODY,
        parameters=(KEY,),
        errors=("CONFLICT", "UNPROCESSABLE_ENTITY"),
    )


def _update(made: BatchEndpoints) -> Endpoint:
    model = made.model
    return Endpoint(
        method="PUT",
        path=f"/api/{model.plural}/batch",
        run=made.update,
        policy=may_write(model, "update"),
        limit=entity_limit(model.plural, "update-batch"),
        area="B",
        operation=f"{model.plural}.update-batch",
        tag=model.plural,
        summary=f"Change many {words(model.plural)}, or none",
        description="Each item carries its `id` and the fields that change; one that is missing is `items[2].id`.",
        shown=(Shown(200, "data", f"{model.name}BatchUpdated"),),
        body=batch_forms(model)[1],
        largest_body=BATCH_BODY,
        errors=("NOT_FOUND", "CONFLICT", *rule_errors(model)),
    )


def _delete(made: BatchEndpoints, method: Method) -> Endpoint:
    """By POST for clients that cannot send a body with DELETE; both share one limit."""
    model, is_post = made.model, method == "POST"
    return Endpoint(
        method=method,
        path=f"/api/{model.plural}/batch{'/delete' if is_post else ''}",
        run=made.delete,
        policy=may_write(model, "delete"),
        limit=entity_limit(model.plural, "delete-batch"),
        area="B",
        operation=f"{model.plural}.delete-batch{'-by-post' if is_post else ''}",
        tag=model.plural,
        summary=f"Delete many {words(model.plural)}, or none",
        description="One that is missing is named as `ids[2]`; the same id twice counts once.",
        shown=(Shown(200, "data", BatchDeleted, ("Idempotent-Replayed",) if is_post else ()),),
        body=BatchDelete,
        largest_body=BATCH_BODY,
        parameters=(KEY,) if is_post else (),
        errors=("NOT_FOUND", "CONFLICT", *(("UNPROCESSABLE_ENTITY",) if is_post else ())),
    )


@lru_cache(maxsize=1024)
def batch_forms(model: EntityModel) -> tuple[type[Struct], type[Struct]]:
    """The bodies of creating and of changing many."""
    declared: list[Any] = [(one.name, one.type, one.default) for one in fields(model.update_form)]
    item = defstruct(
        f"{model.name}BatchItem",
        [("id", UUID), *declared],
        rename={one.name: one.wire for one in model.declared},
        kw_only=True,
    )
    bodies = (f"{model.name}BatchCreate", model.create_form), (f"{model.name}BatchUpdate", item)
    created, updated = (
        defstruct(name, [("items", Annotated[list[kind], Meta(min_length=1, max_length=1_000)])])  # type: ignore[valid-type]
        for name, kind in bodies
    )
    return created, updated
