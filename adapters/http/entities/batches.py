"""Handlers of many rows at once, all or none."""

from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

import msgspec
from litestar import Response, delete, post, put
from litestar.handlers import HTTPRouteHandler
from msgspec import Meta, Struct, defstruct
from msgspec.structs import fields

from adapters.http.entities.bodies import EntityBodies
from adapters.http.entities.idempotency import KEY, REPLAYED, replayed, write_of
from adapters.http.entities.rows import may_write, rule_errors, words
from adapters.http.entities.shapes import shape, typed
from adapters.http.request.body import BATCH_BODY
from adapters.http.request.responses import EntityData, entity_data
from adapters.http.request.rules import rules
from adapters.http.request.strict_request import RawBody, StrictRequest, raw_body
from application.entities.batches import Batches
from application.ports.entities.records import Change
from domain.entities.declaration import EntityModel
from domain.limits import entity_limit

Ids = Annotated[list[UUID], Meta(min_length=1, max_length=1_000)]


class BatchDelete(Struct):
    ids: Ids


class BatchDeleted(Struct):
    deleted: int
    ids: list[UUID]


IDS = raw_body(BatchDelete, decimals=False)


@dataclass(frozen=True)
class EntityBatches:
    """One entity with all that its batch handlers need; the factories below close over it."""

    model: EntityModel
    batches: Batches
    bodies: EntityBodies


def batch_handlers(entity: EntityBatches) -> list[HTTPRouteHandler]:
    if not entity.model.declaration.writable:
        return []
    return [_create(entity), _update(entity), _delete(entity), _delete_by_post(entity)]


def _create(entity: EntityBatches) -> HTTPRouteHandler:
    model, bodies = entity.model, entity.bodies

    async def create_batch(request: StrictRequest, data: Any) -> Response[Any]:
        caller, items = request.caller, bodies.new_items(request, data)
        with bodies.concealing(caller):
            written = await entity.batches.create(write_of(request, await request.body()), model, items)
        rows = bodies.shown_all(caller, [stored.body for stored in written.answer])
        body = b'{"created":%d,"items":%b}' % (len(written.answer), rows)
        return entity_data(request, body, headers=replayed(written.is_replayed))

    return post(
        "/batch",
        name=f"{model.plural}.create-batch",
        status_code=200,
        summary=f"Create many {words(model.plural)}, or none",
        description="Every item that fails is named, such as `items[3].price`; the answer keeps the order.",
        response_headers=[REPLAYED],
        request_max_body_size=BATCH_BODY,
        opt=rules(
            policy=may_write(model, "create"),
            limit=entity_limit(model.plural, "create-batch"),
            parameters=(KEY,),
            errors=("CONFLICT", "UNPROCESSABLE_ENTITY"),
        ),
    )(typed(create_batch, EntityData[shape(f"{model.name}BatchCreated")], _created_form(model)))  # type: ignore[misc]


def _update(entity: EntityBatches) -> HTTPRouteHandler:
    model, bodies = entity.model, entity.bodies

    async def update_batch(request: StrictRequest, data: Any) -> Response[Any]:
        caller, items = request.caller, bodies.changed_items(request, data)
        changes = [Change(item.id, item.values) for item in items]
        with bodies.concealing(caller):
            stored = await entity.batches.update(write_of(request), model, changes)
        rows = bodies.shown_all(caller, [row.body for row in stored])
        return entity_data(request, b'{"updated":%d,"items":%b}' % (len(stored), rows))

    return put(
        "/batch",
        name=f"{model.plural}.update-batch",
        summary=f"Change many {words(model.plural)}, or none",
        description="Each item carries its `id` and the fields that change; one that is missing is `items[2].id`.",
        request_max_body_size=BATCH_BODY,
        opt=rules(
            policy=may_write(model, "update"),
            limit=entity_limit(model.plural, "update-batch"),
            errors=("NOT_FOUND", "CONFLICT", *rule_errors(model)),
        ),
    )(typed(update_batch, EntityData[shape(f"{model.name}BatchUpdated")], _updated_form(model)))  # type: ignore[misc]


DELETED_TEXT = "One that is missing is named as `ids[2]`; the same id twice counts once."


def _delete(entity: EntityBatches) -> HTTPRouteHandler:
    model = entity.model

    async def delete_batch(request: StrictRequest, data: Any) -> Response[Any]:
        return await _deleted(entity, request, data)

    return delete(
        "/batch",
        name=f"{model.plural}.delete-batch",
        status_code=200,
        summary=f"Delete many {words(model.plural)}, or none",
        description=DELETED_TEXT,
        request_max_body_size=BATCH_BODY,
        opt=rules(
            policy=may_write(model, "delete"),
            limit=entity_limit(model.plural, "delete-batch"),
            errors=("NOT_FOUND", "CONFLICT"),
        ),
    )(typed(delete_batch, EntityData[BatchDeleted], IDS))


def _delete_by_post(entity: EntityBatches) -> HTTPRouteHandler:
    """The same as ``_delete`` and under its limit, for clients that cannot send a body with DELETE."""
    model = entity.model

    async def delete_batch_by_post(request: StrictRequest, data: Any) -> Response[Any]:
        return await _deleted(entity, request, data)

    return post(
        "/batch/delete",
        name=f"{model.plural}.delete-batch-by-post",
        status_code=200,
        summary=f"Delete many {words(model.plural)}, or none",
        description=DELETED_TEXT,
        response_headers=[REPLAYED],
        request_max_body_size=BATCH_BODY,
        opt=rules(
            policy=may_write(model, "delete"),
            limit=entity_limit(model.plural, "delete-batch"),
            parameters=(KEY,),
            errors=("NOT_FOUND", "CONFLICT", "UNPROCESSABLE_ENTITY"),
        ),
    )(typed(delete_batch_by_post, EntityData[BatchDeleted], IDS))


async def _deleted(entity: EntityBatches, request: StrictRequest, data: RawBody) -> Response[Any]:
    write, ids = write_of(request, await request.body()), entity.bodies.ids(request, data)
    written = await entity.batches.delete(write, entity.model, ids)
    body = msgspec.json.encode(BatchDeleted(len(written.answer), written.answer))
    return entity_data(request, body, headers=replayed(written.is_replayed))


def _created_form(model: EntityModel) -> Any:
    return _many(f"{model.name}BatchCreate", model.create_form)


def _updated_form(model: EntityModel) -> Any:
    """Items of the update form with an ``id`` each."""
    declared: list[Any] = [(field.name, field.type, field.default) for field in fields(model.update_form)]
    item = defstruct(
        f"{model.name}BatchItem",
        [("id", UUID), *declared],
        rename={field.name: field.wire for field in model.declared},
        kw_only=True,
    )
    return _many(f"{model.name}BatchUpdate", item)


def _many(name: str, item: type[Struct]) -> Any:
    kind = Annotated[list[item], Meta(min_length=1, max_length=1_000)]  # type: ignore[valid-type]
    return raw_body(defstruct(name, [("items", kind)]))
