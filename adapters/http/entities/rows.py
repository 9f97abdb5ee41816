"""Handlers of single rows and of pages, for any entity."""

from dataclasses import replace
from typing import Any

from litestar import Response, delete, get, patch, post, put
from litestar.handlers import HTTPRouteHandler

from adapters.http.entities.idempotency import KEY, REPLAYED, replayed, write_of
from adapters.http.entities.page_json import page_body
from adapters.http.entities.served_entity import ServedEntity
from adapters.http.entities.shapes import (
    deletion_errors,
    entity_operation,
    may_read,
    may_write,
    rule_errors,
    shape,
    typed,
)
from adapters.http.request.body import ENTITY_BODY, while_asked_for
from adapters.http.request.responses import ETAG, LOCATION, NOT_MODIFIED, NoBody, entity_data, enveloped, etag
from adapters.http.request.rules import Parameter
from adapters.http.request.strict_request import PathId, StrictRequest, raw_body, read_id
from application.entities.checks.conditional_changes import change_of
from application.entities.crud import Crud
from domain.entities.query.values import read_flags
from domain.scope import OneTenant

IF_MATCH = Parameter("If-Match", {"type": "string"}, "Only if one of these is still its version.", "header")
IF_NONE_MATCH = Parameter("If-None-Match", {"type": "string"}, "304 if one of these is still its version.", "header")


def row_handlers(entity: ServedEntity, crud: Crud) -> list[HTTPRouteHandler]:
    handlers = [_page(entity, crud), _read(entity, crud)]
    if not entity.model.declaration.writable:
        return handlers
    restoring = [_restore(entity, crud)] if entity.model.soft_delete else []
    return [
        *handlers,
        _create(entity, crud),
        _update(entity, crud, "update"),
        _update(entity, crud, "patch"),
        _delete(entity, crud),
        *restoring,
    ]


def _page(entity: ServedEntity, crud: Crud) -> HTTPRouteHandler:
    model = entity.model

    async def page(request: StrictRequest) -> Response[Any]:
        query = entity.queries.query(request.caller, request.parameters())
        scope = entity.scope(request)
        found = await while_asked_for(request.receive, crud.page(scope, model, query))
        return entity_data(request, page_body(query, found))

    return get(
        "/",
        **entity_operation(model, "page", "List {}", may_read(model), parameters=entity.parameters.page),
    )(typed(page, enveloped(shape(f"{model.name}Page"))))


KEPT_BY_THE_CALLER = "private, no-cache"
"""Cache-Control that lets the caller cache a row with a version and revalidate it for each use."""


def _read(entity: ServedEntity, crud: Crud) -> HTTPRouteHandler:
    model = entity.model
    # Links end with their targets, without a new version of the row.
    is_whole = entity.fields.are_shown_alike and not model.links

    async def read(request: StrictRequest, id: PathId) -> Response[Any]:  # noqa: A002  # the path's name
        view = entity.queries.view(request.caller, request.parameters())
        scope = entity.scope(request)
        stored = await crud.get(scope, model, read_id(id), view)
        if not model.has_versions:
            return entity_data(request, bytes(stored.body))
        tag = {"etag": etag(stored.version), "cache-control": KEPT_BY_THE_CALLER}
        # The tag does not cover related rows or differences between the callers' fields.
        is_the_version = is_whole and not view.include and isinstance(scope, OneTenant)
        if is_the_version and request.has_version(stored.version):
            return NoBody(304, tag)
        return entity_data(request, bytes(stored.body), headers=tag)

    return get(
        "/{id:str}",  # not :uuid: a malformed id is a 404 only after token, limit and permission
        **entity_operation(
            model,
            "read",
            "Read one of the {}",
            may_read(model),
            parameters=lambda: (*entity.parameters.view(), *([IF_NONE_MATCH] if model.has_versions else [])),
        ),
        response_headers=[ETAG] if model.has_versions else [],
        responses=NOT_MODIFIED if model.has_versions else {},
    )(typed(read, enveloped(shape(model.name))))


def _create(entity: ServedEntity, crud: Crud) -> HTTPRouteHandler:
    model, fields, policy = entity.model, entity.fields, may_write(entity.model, "create")

    async def create(request: StrictRequest, data: Any) -> Response[Any]:
        caller, values = request.caller, fields.read_new(request.caller, data)
        with fields.concealing(caller, data):
            written = await crud.create(write_of(request, entity.scope(request), await request.body()), model, values)
        stored = written.answer
        headers = {"location": f"/api/{model.plural}/{stored.id}", "etag": etag(stored.version)}
        return entity_data(
            request, fields.readable(caller, stored.body), headers=headers | replayed(written.is_replayed)
        )

    return post(
        "/",
        **entity_operation(
            model, "create", "Create one of the {}", policy, "CONFLICT", "UNPROCESSABLE_ENTITY", parameters=(KEY,)
        ),
        response_headers=[LOCATION, ETAG, REPLAYED],
        request_max_body_size=ENTITY_BODY,
    )(typed(create, enveloped(shape(model.name)), raw_body(model.create_form)))


def _update(entity: ServedEntity, crud: Crud, name: str) -> HTTPRouteHandler:
    model, fields, method = entity.model, entity.fields, put if name == "update" else patch
    errors = ("CONFLICT", "PRECONDITION_FAILED", *rule_errors(model))

    async def update(request: StrictRequest, id: PathId, data: Any) -> Response[Any]:  # noqa: A002  # as in the path
        caller, sent = request.caller, fields.read_changes(request.caller, id, data)
        change = change_of(read_id(id), sent.values, request.wanted_versions(), sent.kept)
        with fields.concealing(caller, data):
            stored = await crud.update(write_of(request, entity.scope(request)), model, change)
        return entity_data(request, fields.readable(caller, stored.body), headers={"etag": etag(stored.version)})

    return method(
        "/{id:str}",
        **entity_operation(
            model,
            name,
            "Change one of the {}",
            may_write(model, "update"),
            *errors,
            counted_as="update",
            parameters=(IF_MATCH,),
        ),
        description="Fields sent change, fields left out stay; null clears one that may be null.",
        response_headers=[ETAG],
        request_max_body_size=ENTITY_BODY,
    )(typed(update, enveloped(shape(model.name)), raw_body(model.update_form)))


def _delete(entity: ServedEntity, crud: Crud) -> HTTPRouteHandler:
    model = entity.model
    flags: tuple[str, ...] = ()
    policy, parameters = may_write(model, "delete"), [IF_MATCH]
    errors = ("CONFLICT", "PRECONDITION_FAILED", *deletion_errors(entity.fields.registry, model))
    if model.can_be_purged:
        purge = model.permission("purge")
        text = f"Deletes for good, deleted ones too. Needs `{purge}` instead."
        permanent = Parameter("permanent", {"type": "boolean", "default": False}, text)
        policy = replace(policy, or_permission=(*policy.further_permissions, purge))
        flags, parameters = ("permanent",), [permanent, IF_MATCH]

    async def remove(request: StrictRequest, id: PathId) -> Response[None]:  # noqa: A002  # as in the path
        is_permanent = bool(read_flags(request.parameters(), flags))
        request.caller.ensure_may(*model.permissions("purge" if is_permanent else "delete"))
        delete_row = crud.purge if is_permanent else crud.delete
        await delete_row(write_of(request, entity.scope(request)), model, read_id(id), request.wanted_versions())
        return NoBody()

    return delete(
        "/{id:str}",
        **entity_operation(model, "delete", "Delete one of the {}", policy, *errors, parameters=tuple(parameters)),
        description="It is marked deleted." if model.soft_delete else "It is gone for good.",
    )(remove)


def _restore(entity: ServedEntity, crud: Crud) -> HTTPRouteHandler:
    model, policy = entity.model, may_write(entity.model, "delete")
    errors = ("CONFLICT", "PRECONDITION_FAILED", "UNPROCESSABLE_ENTITY")

    async def restore(request: StrictRequest, id: PathId) -> Response[Any]:  # noqa: A002  # as in the path
        caller = request.caller
        with entity.fields.concealing(caller):
            written = await crud.restore(
                write_of(request, entity.scope(request)), model, read_id(id), request.wanted_versions()
            )
        stored = written.answer
        headers = {"etag": etag(stored.version)} | replayed(written.is_replayed)
        return entity_data(request, entity.fields.readable(caller, stored.body), headers=headers)

    return post(
        "/{id:str}/restore",
        **entity_operation(
            model, "restore", "Bring one of the deleted {} back", policy, *errors, parameters=(IF_MATCH, KEY)
        ),
        status_code=200,
        description="What its deletion took along comes back with it.",
        response_headers=[ETAG, REPLAYED],
    )(typed(restore, enveloped(shape(model.name))))
