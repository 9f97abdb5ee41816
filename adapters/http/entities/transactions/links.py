"""Handlers that add and remove links of a row, for each field with links: ``/api/orders/{id}/tags``."""

from typing import Any

from litestar import Response, delete, post
from litestar.handlers import HTTPRouteHandler

from adapters.http.entities.batches import IDS
from adapters.http.entities.idempotency import write_of
from adapters.http.entities.rows import IF_MATCH
from adapters.http.entities.served_entity import ServedEntity
from adapters.http.entities.shapes import entity_operation, may_write, rule_errors, shape, typed
from adapters.http.request.responses import ETAG, NoBody, entity_data, enveloped, etag
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.entities.checks.link_changes import LinkChange, link_change
from application.entities.crud import Crud
from domain.entities.bodies import NOT_WRITABLE
from domain.entities.declaration import FieldModel, Relation
from domain.entities.transactions.items import read_ids
from domain.errors import FieldError, Forbidden, NotFound, ValidationError
from domain.scope import Caller

ADDED = "Existing links count as success. `{field}` has them in order: new links follow the others."


def link_handlers(entity: ServedEntity, crud: Crud) -> list[HTTPRouteHandler]:
    # Files are set by the field: a route could not say which file a new one replaces.
    files = {field.name for field in entity.model.attachments}
    relations = [
        relation for relation in entity.model.relations.values() if relation.is_link and relation.by not in files
    ]
    return [make(entity, crud, relation) for relation in relations for make in (_add, _remove)]


def _add(entity: ServedEntity, crud: Crud, relation: Relation) -> HTTPRouteHandler:
    model, fields, field = entity.model, entity.fields, entity.model.by_name[relation.by]

    async def add_links(request: StrictRequest, id: PathId, data: Any) -> Response[Any]:  # noqa: A002  # as in the path
        caller = request.caller
        _ensure_may_send(entity, caller, field)
        change = link_change(field, read_id(id), request.wanted_versions(), added=read_ids(data))
        with fields.concealing(caller):
            stored = await _write(entity, crud, request, change)
        return entity_data(request, fields.readable(caller, stored.body), headers={"etag": etag(stored.version)})

    return post(
        f"/{{id:str}}/{relation.name}",
        **entity_operation(
            model,
            f"add-{relation.name}",
            f"Link one of the {{}} to {relation.target}",
            may_write(model, "update"),
            "PRECONDITION_FAILED",
            *rule_errors(model),
            counted_as="update",
            parameters=(IF_MATCH,),
        ),
        status_code=200,
        description=ADDED.format(field=field.wire),
        response_headers=[ETAG],
    )(typed(add_links, enveloped(shape(model.name)), IDS))


def _remove(entity: ServedEntity, crud: Crud, relation: Relation) -> HTTPRouteHandler:
    model, field = entity.model, entity.model.by_name[relation.by]

    async def remove_link(request: StrictRequest, id: PathId, target: PathId) -> Response[None]:  # noqa: A002  # as above
        _ensure_may_send(entity, request.caller, field)
        change = link_change(field, read_id(id), request.wanted_versions(), removed=read_id(target))
        with entity.fields.concealing(request.caller):
            await _write(entity, crud, request, change)
        return NoBody()

    return delete(
        f"/{{id:str}}/{relation.name}/{{target:str}}",
        **entity_operation(
            model,
            f"remove-{relation.name}",
            f"End a link of one of the {{}} to {relation.target}",
            may_write(model, "update"),
            "PRECONDITION_FAILED",
            *rule_errors(model),
            counted_as="update",
            parameters=(IF_MATCH,),
        ),
    )(remove_link)


async def _write(entity: ServedEntity, crud: Crud, request: StrictRequest, change: LinkChange) -> Any:
    wire = entity.model.by_name[change.name].wire
    try:
        return await crud.update(write_of(request, entity.scope(request)), entity.model, change)
    except ValidationError as error:
        # The client sent ``ids``; the places of the field's list are not those of its body.
        others = [wrong for wrong in error.fields if not wrong.field.startswith(f"{wire}[")]
        ids = [FieldError("ids", wrong.message) for wrong in error.fields if wrong not in others]
        raise ValidationError(fields=[*others, *ids[:1]]) from None


def _ensure_may_send(entity: ServedEntity, caller: Caller, field: FieldModel) -> None:
    # Security: the routes of a hidden field do not exist.
    if field.wire in entity.fields.hidden_from(caller):
        raise NotFound
    if field.wire in entity.fields.access(caller).closed:
        raise Forbidden(fields=[FieldError(field.wire, NOT_WRITABLE)])
