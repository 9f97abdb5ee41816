"""Handlers for the shares of a row."""

from typing import Annotated, Any
from uuid import UUID

import msgspec
from litestar import Response, delete, get, put
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler
from litestar.params import JSONBody
from msgspec import Meta, Struct

from adapters.http.entities.idempotency import write_of
from adapters.http.entities.served_entity import ServedEntity
from adapters.http.entities.shapes import entity_operation, may_write
from adapters.http.request.responses import EntityData, NoBody, entity_data, wire_time
from adapters.http.request.rules import needs
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.entities.sharing import Sharer, Sharing
from application.ports.entities.shares import Share
from domain.entities.owning import ShareLevel
from domain.errors import ValidationError
from domain.forms import uuid_of

TEXT = "The caller needs to be allowed to update the row, by `{}` or a share with the level `update`."


class ShareForm(Struct, forbid_unknown_fields=True):
    level: ShareLevel


class ShareShown(Struct, frozen=True, rename="camel"):
    user_id: UUID
    full_name: str
    level: ShareLevel
    created_at: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    created_by: UUID | None


class ShareList(Struct, frozen=True):
    items: list[ShareShown]


def share_handlers(entity: ServedEntity, sharing: Sharing) -> list[HTTPRouteHandler]:
    return [_list(entity, sharing), _put(entity, sharing), _delete(entity, sharing)]


def _list(entity: ServedEntity, sharing: Sharing) -> HTTPRouteHandler:
    model = entity.model

    async def shares(request: StrictRequest, id: PathId) -> Response[EntityData[ShareList]]:  # noqa: A002  # the path's name
        found = await sharing.of(_sharer(entity, request), model, read_id(id))
        return entity_data(request, msgspec.json.encode(ShareList([_shown(share) for share in found])))

    return get("/{id:str}/shares", **_options(entity, "shares", "List the shares of one of the {}"))(shares)


def _put(entity: ServedEntity, sharing: Sharing) -> HTTPRouteHandler:
    model = entity.model

    async def share(
        request: StrictRequest,
        id: PathId,  # noqa: A002  # the path's name
        user_id: PathId,
        data: JSONBody[ShareForm],
    ) -> Response[EntityData[ShareShown]]:
        row_id, named = read_id(id), uuid_of(user_id)
        if named is None:
            raise ValidationError.on("userId", "is not valid")
        stored = await sharing.put(_sharer(entity, request), model, row_id, named, data.level)
        return entity_data(request, msgspec.json.encode(_shown(stored)))

    options = _options(entity, "share", "Share one of the {} with a user", "QUOTA_EXCEEDED")
    return put("/{id:str}/shares/{user_id:str}", **options)(share)


def _delete(entity: ServedEntity, sharing: Sharing) -> HTTPRouteHandler:
    model = entity.model

    async def unshare(request: StrictRequest, id: PathId, user_id: PathId) -> Response[None]:  # noqa: A002  # the path's name
        await sharing.remove(_sharer(entity, request), model, read_id(id), read_id(user_id))
        return NoBody()

    options = _options(entity, "unshare", "Remove a user's share of one of the {}")
    return delete("/{id:str}/shares/{user_id:str}", **options)(unshare)


def _options(entity: ServedEntity, name: str, summary: str, *errors: str) -> dict[str, Any]:
    model = entity.model
    updating = may_write(model, "update")

    async def may_update(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
        updating.ensure(connection.scope.get("auth"))

    text = TEXT.format("`, `".join(model.permissions("update")))
    options = entity_operation(model, name, summary, needs(model.permission("share")), *errors)
    return {**options, "guards": [may_update], "description": text}


def _sharer(entity: ServedEntity, request: StrictRequest) -> Sharer:
    write = write_of(request, entity.scope(request))
    return Sharer(write.caller, write.scope, request.from_client)


def _shown(share: Share) -> ShareShown:
    return ShareShown(share.user_id, share.full_name, share.level, wire_time(share.created_at), share.created_by)
