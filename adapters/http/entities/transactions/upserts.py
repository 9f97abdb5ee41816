"""Handler that creates or changes rows of an entity by a unique field, all or none."""

from typing import Annotated, Any

import msgspec
from litestar import Response, post
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler
from litestar.types import Guard
from msgspec import Meta, defstruct

from adapters.http.entities.batches import Batch, read_large
from adapters.http.entities.idempotency import KEY, REPLAYED, replayed, write_of
from adapters.http.entities.served_entity import ServedEntity
from adapters.http.entities.shapes import entity_operation, may_write, shape, typed
from adapters.http.request.body import BATCH_BODY
from adapters.http.request.responses import entity_data, enveloped
from adapters.http.request.strict_request import StrictRequest, raw_body
from application.entities.transactions.upserts import Upserts, keys_for, read_upsert
from domain.entities.bodies import EVERY_FIELD
from domain.entities.declaration import EntityModel
from domain.entities.transactions.items import MOST_ITEMS

ERRORS = ("CONFLICT", "UNPROCESSABLE_ENTITY")
TEXT = "Changes the row with an item's value of the unique field `key`, or creates it. Needs `{update}` too."


def upsert_handler(entity: ServedEntity, upserts: Upserts) -> HTTPRouteHandler:
    model, fields = entity.model, entity.fields

    async def upsert(request: StrictRequest, data: Any) -> Response[Any]:
        caller = request.caller
        sent = read_upsert(fields, caller, data)
        written = await upserts.upsert(write_of(request, entity.scope(request), await request.body()), model, sent)
        answer = written.answer
        rows = fields.all_readable(caller, [stored.body for stored in answer.items])
        body = b'{"created":%d,"updated":%d,"items":%b}' % (answer.created, answer.updated, rows)
        return entity_data(request, body, headers=replayed(written.is_replayed))

    policy = may_write(model, "create")
    return post(
        "/batch/upsert",
        **entity_operation(
            model,
            "upsert-batch",
            "Create or change many {} by a unique field, or none",
            policy,
            *ERRORS,
            parameters=(KEY,),
        ),
        guards=[_may_update(model)],
        status_code=200,
        description=TEXT.format(update=model.permission("update")),
        response_headers=[REPLAYED],
        request_max_body_size=BATCH_BODY,
    )(typed(upsert, enveloped(shape(f"{model.name}BatchUpserted")), _form(model)))


def _may_update(model: EntityModel) -> Guard:
    policy = may_write(model, "update")

    async def guard(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
        policy.ensure(connection.scope.get("auth"))

    return guard


def _form(model: EntityModel) -> Any:
    items = Annotated[list[model.update_form], Meta(min_length=1, max_length=MOST_ITEMS)]  # type: ignore[name-defined]
    keys = [field.wire for field in keys_for(model, EVERY_FIELD) if field.guard.read is None]
    key = Annotated[str, Meta(extra_json_schema={"enum": keys} if keys else {})]
    form = defstruct(f"{model.name}BatchUpsert", [("key", key), ("items", items)])
    return raw_body(form, reader=read_upsert_body)


class _Upsert(Batch):
    key: str


async def read_upsert_body(body: bytes, decimals: bool) -> dict[str, object]:
    return await read_large(body, decimals, _UPSERT)


_UPSERT = msgspec.json.Decoder(_Upsert)
