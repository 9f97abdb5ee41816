"""Handlers of many rows at once, all or none."""

from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

import msgspec
from litestar import Response, delete, post, put
from litestar.handlers import HTTPRouteHandler
from msgspec import UNSET, Meta, Struct, UnsetType, defstruct
from msgspec.structs import fields

from adapters.http.entities.bodies import EntityBodies
from adapters.http.entities.idempotency import KEY, REPLAYED, replayed, write_of
from adapters.http.entities.shapes import may_write, operation, rule_errors, shape, typed
from adapters.http.request.body import BATCH_BODY
from adapters.http.request.responses import EntityData, entity_data
from adapters.http.request.strict_request import RawBody, StrictRequest, raw_body
from application.entities.batches import Batches
from application.entities.conditional_changes import change_of
from domain.entities.declaration import EntityModel

Version = Annotated[int, Meta(ge=1, lt=2**31)] | UnsetType | None
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
    policy, errors = may_write(model, "create"), ("CONFLICT", "UNPROCESSABLE_ENTITY")

    async def create_batch(request: StrictRequest, data: Any) -> Response[Any]:
        caller, items = request.caller, bodies.new_items(request, data)
        with bodies.concealing(caller):
            written = await entity.batches.create(write_of(request, await request.body()), model, items)
        rows = bodies.shown_all(caller, [stored.body for stored in written.answer])
        body = b'{"created":%d,"items":%b}' % (len(written.answer), rows)
        return entity_data(request, body, headers=replayed(written.is_replayed))

    return post(
        "/batch",
        **operation(model, "create-batch", "Create many {}, or none", policy, *errors, parameters=(KEY,)),
        status_code=200,
        description="Every item that fails is named, such as `items[3].price`; the answer keeps the order.",
        response_headers=[REPLAYED],
        request_max_body_size=BATCH_BODY,
    )(typed(create_batch, EntityData[shape(f"{model.name}BatchCreated")], _created_form(model)))  # type: ignore[misc]


UPDATED_TEXT = (
    "Each item carries its `id` and the fields that change; one that is missing is `items[2].id`. An item with a"
    " `version` changes that version only: 412 names `items[2].version`. Items may swap unique values."
)


def _update(entity: EntityBatches) -> HTTPRouteHandler:
    model, bodies = entity.model, entity.bodies
    policy = may_write(model, "update")
    errors = ("NOT_FOUND", "CONFLICT", "PRECONDITION_FAILED", *rule_errors(model))

    async def update_batch(request: StrictRequest, data: Any) -> Response[Any]:
        caller, items = request.caller, bodies.changed_items(request, data)
        changes = [change_of(item.id, item.sent.values, item.version, item.sent.kept) for item in items]
        with bodies.concealing(caller):
            stored = await entity.batches.update(write_of(request), model, changes)
        rows = bodies.shown_all(caller, [row.body for row in stored])
        return entity_data(request, b'{"updated":%d,"items":%b}' % (len(stored), rows))

    return put(
        "/batch",
        **operation(model, "update-batch", "Change many {}, or none", policy, *errors),
        description=UPDATED_TEXT,
        request_max_body_size=BATCH_BODY,
    )(typed(update_batch, EntityData[shape(f"{model.name}BatchUpdated")], _updated_form(model)))  # type: ignore[misc]


DELETE = "Delete many {}, or none"
DELETED_TEXT = (
    "One that is missing is named as `ids[2]`, and so is one that is still referred to, with the number of rows that"
    " refer to it as far as the caller may read them; the same id twice counts once."
)


def _delete(entity: EntityBatches) -> HTTPRouteHandler:
    model = entity.model

    async def delete_batch(request: StrictRequest, data: Any) -> Response[Any]:
        return await _deleted(entity, request, data)

    return delete(
        "/batch",
        **operation(model, "delete-batch", DELETE, may_write(model, "delete"), "NOT_FOUND", "CONFLICT"),
        status_code=200,
        description=DELETED_TEXT,
        request_max_body_size=BATCH_BODY,
    )(typed(delete_batch, EntityData[BatchDeleted], IDS))


def _delete_by_post(entity: EntityBatches) -> HTTPRouteHandler:
    """The same as ``_delete`` and under its limit, for clients that cannot send a body with DELETE."""
    model = entity.model
    policy, errors = may_write(model, "delete"), ("NOT_FOUND", "CONFLICT", "UNPROCESSABLE_ENTITY")

    async def delete_batch_by_post(request: StrictRequest, data: Any) -> Response[Any]:
        return await _deleted(entity, request, data)

    return post(
        "/batch/delete",
        **operation(model, "delete-batch-by-post", DELETE, policy, *errors, limit="delete-batch", parameters=(KEY,)),
        status_code=200,
        description=DELETED_TEXT,
        response_headers=[REPLAYED],
        request_max_body_size=BATCH_BODY,
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
        [("id", UUID), ("version", Version, UNSET), *declared],
        rename={field.name: field.wire for field in model.declared},
        kw_only=True,
    )
    return _many(f"{model.name}BatchUpdate", item)


def _many(name: str, item: type[Struct]) -> Any:
    kind = Annotated[list[item], Meta(min_length=1, max_length=1_000)]  # type: ignore[valid-type]
    return raw_body(defstruct(name, [("items", kind)]))
