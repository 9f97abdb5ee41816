"""Handlers of one row and of pages of them, whichever the entity is."""

from dataclasses import dataclass, replace
from typing import Any

import msgspec
from litestar import Response, delete, get, patch, post, put
from litestar.datastructures import ResponseHeader
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.datastructures import ResponseSpec

from adapters.http.entities.bodies import EntityBodies, ensure_no_parameters, read_flags
from adapters.http.entities.idempotency import KEY, REPLAYED, replayed, write_of
from adapters.http.entities.queries import EntityQueries, cursor_after
from adapters.http.entities.shapes import may_read, may_write, operation, rule_errors, shape, typed
from adapters.http.request.body import ENTITY_BODY
from adapters.http.request.responses import LOCATION, EntityData, NoBody, entity_data, etag
from adapters.http.request.rules import Parameter
from adapters.http.request.strict_request import PathId, StrictRequest, raw_body, read_id
from application.entities.conditional_changes import change_of
from application.entities.crud import Crud
from application.ports.entities.records import RowPage
from domain.entities.declaration import EntityModel
from domain.entities.query.query import Query

IF_MATCH = Parameter("If-Match", {"type": "string"}, "Only if one of these is still its version.", "header")
IF_NONE_MATCH = Parameter("If-None-Match", {"type": "string"}, "304 if one of these is still its version.", "header")
ETAG = ResponseHeader(
    name="ETag", description="The version, for `If-Match` and `If-None-Match`.", documentation_only=True
)
QUERY_ERRORS = ("VALIDATION_ERROR", "BAD_REQUEST")
NOT_MODIFIED = {304: ResponseSpec(None, description="Not modified.", generate_examples=False)}


@dataclass(frozen=True)
class EntityRows:
    """One entity with all that its handlers need; the factories below close over it."""

    model: EntityModel
    crud: Crud
    queries: EntityQueries
    bodies: EntityBodies


def row_handlers(rows: EntityRows) -> list[HTTPRouteHandler]:
    handlers = [_page(rows), _read(rows)]
    if not rows.model.declaration.writable:
        return handlers
    restoring = [_restore(rows)] if rows.model.soft_delete else []
    return [*handlers, _create(rows), _update(rows, "update"), _update(rows, "patch"), _delete(rows), *restoring]


def _page(rows: EntityRows) -> HTTPRouteHandler:
    model, parameters = rows.model, rows.queries.page_parameters

    async def page(request: StrictRequest) -> Response[Any]:
        query = rows.queries.query(request.caller, request.parameters())
        found = await rows.crud.page(request.tenant_scope, model, query)
        return entity_data(request, page_body(query, found))

    return get(
        "/",
        **operation(model, "page", "List {}", may_read(model), *QUERY_ERRORS, parameters=lambda: parameters()),  # noqa: PLW0108  # see rules()
    )(typed(page, EntityData[shape(f"{model.name}Page")]))  # type: ignore[misc]


def _read(rows: EntityRows) -> HTTPRouteHandler:
    model = rows.model

    async def read(request: StrictRequest, id: PathId) -> Response[Any]:  # noqa: A002  # the path's name
        view = rows.queries.view(request.caller, request.parameters())
        stored = await rows.crud.get(request.tenant_scope, model, read_id(id), view)
        tag = {"etag": etag(stored.version)}
        # related rows change without this row's version
        if not view.include and request.has_version(stored.version):
            return NoBody(304, tag)
        return entity_data(request, bytes(stored.body), headers=tag)

    return get(
        "/{id:str}",  # and not :uuid: a malformed id passes token, limit and permission before it is a 404
        **operation(
            model,
            "read",
            "Read one of the {}",
            may_read(model),
            "VALIDATION_ERROR",
            parameters=lambda: (*rows.queries.view_parameters(), IF_NONE_MATCH),
        ),
        response_headers=[ETAG],
        responses=NOT_MODIFIED,
    )(typed(read, EntityData[shape(model.name)]))  # type: ignore[misc]


def _create(rows: EntityRows) -> HTTPRouteHandler:
    model, policy = rows.model, may_write(rows.model, "create")

    async def create(request: StrictRequest, data: Any) -> Response[Any]:
        caller, values = request.caller, rows.bodies.new(request, data)
        with rows.bodies.concealing(caller):
            written = await rows.crud.create(write_of(request, await request.body()), model, values)
        stored = written.answer
        headers = {"location": f"/api/{model.plural}/{stored.id}", "etag": etag(stored.version)}
        return entity_data(
            request, rows.bodies.shown(caller, stored.body), headers=headers | replayed(written.is_replayed)
        )

    return post(
        "/",
        **operation(
            model, "create", "Create one of the {}", policy, "CONFLICT", "UNPROCESSABLE_ENTITY", parameters=(KEY,)
        ),
        response_headers=[LOCATION, ETAG, REPLAYED],
        request_max_body_size=ENTITY_BODY,
    )(typed(create, EntityData[shape(model.name)], raw_body(model.create_form)))  # type: ignore[misc]


def _update(rows: EntityRows, name: str) -> HTTPRouteHandler:
    """PATCH is PUT by another name, and shares its limit."""
    model, method = rows.model, put if name == "update" else patch
    errors = ("CONFLICT", "PRECONDITION_FAILED", *rule_errors(model))

    async def update(request: StrictRequest, id: PathId, data: Any) -> Response[Any]:  # noqa: A002
        caller, sent = request.caller, rows.bodies.changes(request, data, id)
        change = change_of(read_id(id), sent.values, request.wanted_versions(), sent.kept)
        with rows.bodies.concealing(caller):
            stored = await rows.crud.update(write_of(request), model, change)
        return entity_data(request, rows.bodies.shown(caller, stored.body), headers={"etag": etag(stored.version)})

    return method(
        "/{id:str}",
        **operation(
            model,
            name,
            "Change one of the {}",
            may_write(model, "update"),
            *errors,
            limit="update",
            parameters=(IF_MATCH,),
        ),
        description="Fields sent change, fields left out stay; null clears one that may be null.",
        response_headers=[ETAG],
        request_max_body_size=ENTITY_BODY,
    )(typed(update, EntityData[shape(model.name)], raw_body(model.update_form)))  # type: ignore[misc]


def _delete(rows: EntityRows) -> HTTPRouteHandler:
    model = rows.model
    flags: tuple[str, ...] = ()
    policy, parameters = may_write(model, "delete"), [IF_MATCH]
    errors = ("CONFLICT", "PRECONDITION_FAILED", "VALIDATION_ERROR")
    if model.can_be_purged:
        purge = model.permission("purge")
        text = f"Deletes for good, deleted ones too. Needs `{purge}` instead."
        permanent = Parameter("permanent", {"type": "boolean", "default": False}, text)
        flags, policy, parameters = ("permanent",), replace(policy, or_permission=purge), [permanent, IF_MATCH]

    async def remove(request: StrictRequest, id: PathId) -> Response[None]:  # noqa: A002
        is_permanent = bool(read_flags(request, flags))
        request.caller.ensure_may(model.permission("purge" if is_permanent else "delete"))
        delete_row = rows.crud.purge if is_permanent else rows.crud.delete
        await delete_row(write_of(request), model, read_id(id), request.wanted_versions())
        return NoBody()

    return delete(
        "/{id:str}",
        **operation(model, "delete", "Delete one of the {}", policy, *errors, parameters=tuple(parameters)),
        description="It is marked deleted." if model.soft_delete else "It is gone for good.",
    )(remove)


def _restore(rows: EntityRows) -> HTTPRouteHandler:
    model, policy = rows.model, may_write(rows.model, "delete")
    errors = ("CONFLICT", "VALIDATION_ERROR", "UNPROCESSABLE_ENTITY")

    async def restore(request: StrictRequest, id: PathId) -> Response[Any]:  # noqa: A002
        ensure_no_parameters(request)
        caller = request.caller
        with rows.bodies.concealing(caller):
            written = await rows.crud.restore(write_of(request), model, read_id(id))
        stored = written.answer
        headers = {"etag": etag(stored.version)} | replayed(written.is_replayed)
        return entity_data(request, rows.bodies.shown(caller, stored.body), headers=headers)

    return post(
        "/{id:str}/restore",
        **operation(model, "restore", "Bring one of the deleted {} back", policy, *errors, parameters=(KEY,)),
        status_code=200,
        description="What its deletion took along comes back with it.",
        response_headers=[ETAG, REPLAYED],
    )(typed(restore, EntityData[shape(model.name)]))  # type: ignore[misc]


def page_body(query: Query, page: RowPage) -> bytes:
    """The specification's page around the store's own JSON."""
    total, size = page.total, query.page_size
    pages = None if total is None else -(-total // size)
    around: dict[str, object] = {
        "page": query.page,
        "pageSize": size,
        "totalCount": total,
        "totalPages": pages,
        "hasNextPage": page.has_next,
        "hasPreviousPage": query.page > 1,
    }
    if page.last is not None:
        around["nextCursor"] = cursor_after(query, page.last)
    if page.total_is_estimate:
        around["totalCountIsEstimate"] = True
    return b'{"items":' + bytes(page.items) + b"," + msgspec.json.encode(around)[1:]
