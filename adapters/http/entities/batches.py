"""Handlers that write many rows at once, all or none."""

import asyncio
from typing import Annotated, Any
from uuid import UUID

import msgspec
from litestar import Response, delete, post, put
from litestar.handlers import HTTPRouteHandler
from msgspec import UNSET, Meta, Struct, UnsetType, defstruct, structs

from adapters.http.entities.idempotency import KEY, REPLAYED, replayed, write_of
from adapters.http.entities.served_entity import ServedEntity
from adapters.http.entities.shapes import deletion_errors, entity_operation, may_write, rule_errors, shape, typed
from adapters.http.request.body import BATCH_BODY
from adapters.http.request.responses import EntityData, entity_data, enveloped
from adapters.http.request.strict_request import RawBody, StrictRequest, raw_body
from adapters.http.strict_reading import decode, read_json, read_object
from application.entities.batches import Batches
from application.entities.checks.conditional_changes import change_of
from domain.entities.bodies import read_changes_from, read_new_from
from domain.entities.declaration import EntityModel
from domain.entities.transactions.items import MOST_ITEMS, read_changed_items, read_ids, read_items
from domain.errors import BadRequest

Version = Annotated[int, Meta(ge=1, lt=2**31)] | UnsetType | None
Ids = Annotated[list[UUID], Meta(min_length=1, max_length=1_000)]


class BatchDelete(Struct):
    ids: Ids


class BatchDeleted(Struct):
    deleted: int
    ids: list[UUID]


LARGE_BODY = 1024 * 1024
"""Bytes from which the service reads a body item by item, and the maximum bytes of one item."""
MOST_COMMAS = 500_000
"""Maximum number of commas, including commas in strings, in a body that the service reads item by item."""

IDS = raw_body(BatchDelete, decimals=False)


def batch_handlers(entity: ServedEntity, batches: Batches) -> list[HTTPRouteHandler]:
    return [
        _create(entity, batches),
        _update(entity, batches),
        _delete(entity, batches),
        _delete_by_post(entity, batches),
    ]


def _create(entity: ServedEntity, batches: Batches) -> HTTPRouteHandler:
    model, fields = entity.model, entity.fields
    policy, errors = may_write(model, "create"), ("CONFLICT", "UNPROCESSABLE_ENTITY")

    async def create_batch(request: StrictRequest, data: Any) -> Response[Any]:
        caller, may = request.caller, fields.access(request.caller)
        items = read_items(data, lambda item: read_new_from(model, item, may))
        with fields.concealing(caller, data):
            written = await batches.create(write_of(request, entity.scope(request), await request.body()), model, items)
        rows = fields.all_readable(caller, [stored.body for stored in written.answer])
        body = b'{"created":%d,"items":%b}' % (len(written.answer), rows)
        return entity_data(request, body, headers=replayed(written.is_replayed))

    return post(
        "/batch",
        **entity_operation(model, "create-batch", "Create many {}, or none", policy, *errors, parameters=(KEY,)),
        status_code=200,
        description="Every item that fails is named, such as `items[3].price`; the answer keeps the order.",
        response_headers=[REPLAYED],
        request_max_body_size=BATCH_BODY,
    )(typed(create_batch, enveloped(shape(f"{model.name}BatchCreated")), _created_form(model)))


UPDATED_TEXT = (
    "Each item carries its `id` and the fields that change; one that is missing is `items[2].id`. An item with a"
    " `version` changes that version only: 412 names `items[2].version`. Items may swap unique values."
)


def _update(entity: ServedEntity, batches: Batches) -> HTTPRouteHandler:
    model, fields = entity.model, entity.fields
    policy = may_write(model, "update")
    errors = ("NOT_FOUND", "CONFLICT", "PRECONDITION_FAILED", *rule_errors(model))

    async def update_batch(request: StrictRequest, data: Any) -> Response[Any]:
        _ensure_no_version(request, "the version of each row is the version of its item")
        caller, may = request.caller, fields.access(request.caller)
        items = read_changed_items(data, lambda item: read_changes_from(model, item, may))
        changes = [change_of(item.id, item.sent.values, item.version, item.sent.kept) for item in items]
        with fields.concealing(caller, data):
            stored = await batches.update(write_of(request, entity.scope(request)), model, changes)
        rows = fields.all_readable(caller, [row.body for row in stored])
        return entity_data(request, b'{"updated":%d,"items":%b}' % (len(stored), rows))

    return put(
        "/batch",
        **entity_operation(model, "update-batch", "Change many {}, or none", policy, *errors),
        description=UPDATED_TEXT,
        request_max_body_size=BATCH_BODY,
    )(typed(update_batch, enveloped(shape(f"{model.name}BatchUpdated")), _updated_form(model)))


DELETE = "Delete many {}, or none"
DELETED_TEXT = (
    "One that is missing is named as `ids[2]`, and so is one that is still referred to, with the number of rows that"
    " refer to it as far as the caller may read them; the same id twice counts once."
)


def _delete(entity: ServedEntity, batches: Batches) -> HTTPRouteHandler:
    model = entity.model
    policy, registry = may_write(model, "delete"), entity.fields.registry
    errors = ("NOT_FOUND", "CONFLICT", *deletion_errors(registry, model))

    async def delete_batch(request: StrictRequest, data: Any) -> Response[Any]:
        return await _deleted(entity, batches, request, data)

    return delete(
        "/batch",
        **entity_operation(model, "delete-batch", DELETE, policy, *errors),
        status_code=200,
        description=DELETED_TEXT,
        request_max_body_size=BATCH_BODY,
    )(typed(delete_batch, EntityData[BatchDeleted], IDS))


def _delete_by_post(entity: ServedEntity, batches: Batches) -> HTTPRouteHandler:
    """Like ``_delete``, with the same limit, for clients that cannot send a body with DELETE."""
    model = entity.model
    policy, errors = may_write(model, "delete"), ("NOT_FOUND", "CONFLICT", "UNPROCESSABLE_ENTITY")

    async def delete_batch_by_post(request: StrictRequest, data: Any) -> Response[Any]:
        return await _deleted(entity, batches, request, data)

    return post(
        "/batch/delete",
        **entity_operation(
            model, "delete-batch-by-post", DELETE, policy, *errors, counted_as="delete-batch", parameters=(KEY,)
        ),
        status_code=200,
        description=DELETED_TEXT,
        response_headers=[REPLAYED],
        request_max_body_size=BATCH_BODY,
    )(typed(delete_batch_by_post, EntityData[BatchDeleted], IDS))


async def _deleted(entity: ServedEntity, batches: Batches, request: StrictRequest, data: RawBody) -> Response[Any]:
    _ensure_no_version(request, "delete a row separately if its version matters")
    write = write_of(request, entity.scope(request), await request.body())
    written = await batches.delete(write, entity.model, read_ids(data))
    body = msgspec.json.encode(BatchDeleted(len(written.answer), written.answer))
    return entity_data(request, body, headers=replayed(written.is_replayed))


def _ensure_no_version(request: StrictRequest, remedy: str) -> None:
    """Raises BadRequest for a version in ``If-Match``: a batch that ignored the version would lose updates."""
    if request.wanted_versions() is not None:
        raise BadRequest(f"If-Match is for one row, and this request is about several: {remedy}.")


def _created_form(model: EntityModel) -> Any:
    return _many(f"{model.name}BatchCreate", model.create_form)


def _updated_form(model: EntityModel) -> Any:
    declared: list[Any] = [(field.name, field.type, field.default) for field in structs.fields(model.update_form)]
    item = defstruct(
        f"{model.name}BatchItem",
        [("id", UUID), ("version", Version, UNSET), *declared],
        rename={field.name: field.wire for field in model.declared},
        kw_only=True,
    )
    return _many(f"{model.name}BatchUpdate", item)


def _many(name: str, item: type[Struct]) -> Any:
    kind = Annotated[list[item], Meta(min_length=1, max_length=1_000)]  # type: ignore[valid-type]
    return raw_body(defstruct(name, [("items", kind)]), reader=read_batch)


class Batch(msgspec.Struct, forbid_unknown_fields=True):
    items: list[msgspec.Raw]


async def read_batch(body: bytes, decimals: bool) -> dict[str, object]:
    """Read the JSON object of a batch. Raises BadRequest, also for an item over the size limit of a single row."""
    return await read_large(body, decimals, _BATCH)


async def read_large(body: bytes, decimals: bool, decoder: msgspec.json.Decoder[Any]) -> dict[str, object]:
    """Read an object with a list ``items``, a large one item by item; ``decoder`` reads a ``Batch``."""
    if len(body) <= LARGE_BODY:
        return read_object(body, decimals)
    decode(body)
    if body.count(b",") > MOST_COMMAS:
        raise BadRequest(f"The body has more than {MOST_COMMAS:,} commas. Send it in several batches.")
    try:
        members: dict[str, Any] = structs.asdict(decoder.decode(body))
    except (msgspec.DecodeError, RecursionError):
        raise BadRequest(
            f"A body of over {LARGE_BODY // 1024} kB must be an object with {_members(decoder)} only."
        ) from None
    items: list[msgspec.Raw] = members["items"]
    if len(items) > MOST_ITEMS:
        raise BadRequest(f"The list of `items` may hold at most {MOST_ITEMS:,} entries.")
    if body.count(b":") - sum(bytes(item).count(b":") for item in items) != len(members):
        raise BadRequest("A JSON object contains a name twice.")
    return {**members, "items": [await _read_item(bytes(item), decimals) for item in items]}


async def _read_item(item: bytes, decimals: bool) -> object:
    if len(item) > LARGE_BODY:
        raise BadRequest(f"An item of a batch may have {LARGE_BODY // 1024} kB at most.")
    await asyncio.sleep(0)
    return read_json(item, decimals)


def _members(decoder: msgspec.json.Decoder[Any]) -> str:
    return "a list `items`" if decoder.type is Batch else "a text `key` and a list `items`"


_BATCH = msgspec.json.Decoder(Batch)
