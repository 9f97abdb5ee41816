"""Handlers for the contents of an entity's files: ``/api/products/{id}/photo``."""

from typing import Annotated, Any
from uuid import UUID

import msgspec
from litestar import Response, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, JSONBody
from msgspec import Meta, Struct

from adapters.http.entities.attachments.sending import (
    ANSWERS,
    BY_LINK,
    ETAG,
    FOR_THE_CALLER,
    UNCOMPRESSED,
    content_operation,
    sent,
)
from adapters.http.entities.served_entity import ServedEntity
from adapters.http.entities.shapes import entity_operation, may_read
from adapters.http.request.responses import EntityData, entity_data, wire_time
from adapters.http.request.rules import PUBLIC, Parameter, operation
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.entities.attachments.contents import FileContents, Linker, Shown
from application.entities.attachments.thumbnails import THUMBNAIL_TYPE
from domain.entities.attachments.files import relation_of
from domain.entities.attachments.types import DETECTABLE
from domain.entities.declaration import FieldModel
from domain.entities.query.values import read_flags
from domain.errors import NotFound, ValidationError
from domain.limits import Limit

LINKED = Limit("files.linked", 600)
TEXT = "The content of the file that the row holds, with the type that was found in it. Browsers show images and PDF."
LINK_TEXT = "The link needs no token, for images and players of pages. It serves for five minutes, while the row holds \
the file."
THUMBNAIL_ERRORS = ("UNPROCESSABLE_ENTITY",)
SIZE = Parameter("size", {"type": "string"}, "The name of a thumbnail that the field declares.")
DOWNLOAD = Parameter("download", {"type": "boolean", "default": False}, "Browsers save the file.")
IF_NONE_MATCH = Parameter("If-None-Match", {"type": "string"}, "304 if the content is still this one.", "header")
RANGE = Parameter("Range", {"type": "string", "examples": ["bytes=0-99"]}, "One range of bytes: 206.", "header")
LinkedAt = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]


class FileLinkForm(Struct, forbid_unknown_fields=True):
    """Form of a link: ``size`` names a thumbnail. With ``download``, browsers save the file.

    With ``stream``, the service sends the content itself, whatever ``FILES_DOWNLOADS`` says.
    """

    size: str | None = None
    download: bool = False
    stream: bool = False


class FileLinkShown(Struct, frozen=True, rename="camel"):
    url: str
    expires_at: LinkedAt


def content_handlers(entity: ServedEntity, contents: FileContents) -> list[HTTPRouteHandler]:
    return [
        make(entity, contents, field, name)
        for field in entity.model.attachments
        for make in (_content, _link)
        for name in [relation_of(entity.model, field)]
    ]


def _content(entity: ServedEntity, contents: FileContents, field: FieldModel, name: str) -> HTTPRouteHandler:
    async def content(request: StrictRequest, id: PathId) -> Response[bytes]:  # noqa: A002  # as in the path
        size, is_download = _asked(request)
        file = await _file(entity, contents, request, field, id, None)
        return await sent(request, contents, Shown.of(field, file, size, is_download=is_download), FOR_THE_CALLER)

    async def listed(request: StrictRequest, id: PathId, file_id: PathId) -> Response[bytes]:  # noqa: A002  # as above
        size, is_download = _asked(request)
        file = await _file(entity, contents, request, field, id, file_id)
        return await sent(request, contents, Shown.of(field, file, size, is_download=is_download), FOR_THE_CALLER)

    rules = field.attachment
    assert rules is not None, field.name
    sizes = rules.sizes
    options = entity_operation(
        entity.model,
        f"read-{name}",
        f"Download a file of one of the {{}}: {name}",
        may_read(entity.model),
        *(THUMBNAIL_ERRORS if sizes else ()),
        parameters=(*((SIZE,) if sizes else ()), DOWNLOAD, IF_NONE_MATCH, RANGE),
    )
    options["opt"] |= {UNCOMPRESSED: True, "limit": _limit(entity)}
    handler = content if field.link is None else listed
    return get(
        _path(field, name),
        **options,
        description=TEXT,
        response_headers=[ETAG],
        responses=ANSWERS,
        operation_class=content_operation({*rules.types, *([THUMBNAIL_TYPE] if sizes else [])}),
    )(handler)


def _link(entity: ServedEntity, contents: FileContents, field: FieldModel, name: str) -> HTTPRouteHandler:
    async def made(request: StrictRequest, row_id: str, file_id: str | None, form: FileLinkForm) -> Response[Any]:
        file = await _file(entity, contents, request, field, row_id, file_id)
        asked = Shown.of(field, file, form.size, is_download=form.download, is_streamed=form.stream)
        by = Linker(request.caller, request.from_client)
        sealed = await contents.link(by, entity.model, field, read_id(row_id), asked)
        shown = FileLinkShown(f"{contents.links_at}/files/{sealed.token}", wire_time(sealed.expires_at))
        return entity_data(request, msgspec.json.encode(shown), headers={"cache-control": "no-store"})

    async def link(
        request: StrictRequest,
        id: PathId,  # noqa: A002  # as in the path
        data: JSONBody[FileLinkForm],
    ) -> Response[EntityData[FileLinkShown]]:
        return await made(request, id, None, data)

    async def link_of(
        request: StrictRequest,
        id: PathId,  # noqa: A002  # as in the path
        file_id: PathId,
        data: JSONBody[FileLinkForm],
    ) -> Response[EntityData[FileLinkShown]]:
        return await made(request, id, file_id, data)

    options = entity_operation(
        entity.model,
        f"link-{name}",
        f"Make a link to a file of one of the {{}}: {name}",
        may_read(entity.model),
    )
    options["opt"] |= {"limit": _limit(entity)}
    handler = link if field.link is None else link_of
    return post(f"{_path(field, name)}/link", **options, status_code=200, description=LINK_TEXT)(handler)


def linked_handler(contents: FileContents) -> HTTPRouteHandler:
    options = operation(
        "files.linked",
        "Download a file by a link",
        PUBLIC,
        "NOT_FOUND",
        *THUMBNAIL_ERRORS,
        limit=LINKED,
        any_query=False,
    )
    options["opt"][UNCOMPRESSED] = True

    async def linked(request: StrictRequest, token: FromPath[str]) -> Response[bytes]:
        return await sent(request, contents, await contents.of_link(token), BY_LINK)

    return get(
        "/files/{token:str}",
        **options,
        tags=["files"],
        description="For links of the operations that make one; without a token.",
        response_headers=[ETAG],
        responses=ANSWERS,
        operation_class=content_operation(DETECTABLE),
    )(linked)


def _limit(entity: ServedEntity) -> Limit:
    return Limit(f"{entity.model.plural}.content", 300)


def _path(field: FieldModel, name: str) -> str:
    return f"/{{id:str}}/{name}" if field.link is None else f"/{{id:str}}/{name}/{{file_id:str}}"


async def _file(
    entity: ServedEntity,
    contents: FileContents,
    request: StrictRequest,
    field: FieldModel,
    row_id: str,
    file_id: str | None,
) -> Any:
    # Security: the routes of a hidden field do not exist.
    if field.wire in entity.fields.hidden_from(request.caller):
        raise NotFound
    named: UUID | None = None if file_id is None else read_id(file_id)
    return await contents.of_row(entity.scope(request), entity.model, field, read_id(row_id), named)


def _asked(request: StrictRequest) -> tuple[str | None, bool]:
    """Return the name of the thumbnail, and whether browsers save the file."""
    sizes = [text for name, text in request.parameters() if name.lower() == "size"]
    if len(sizes) > 1:
        raise ValidationError.on("size", "is given twice")
    others = [given for given in request.parameters() if given[0].lower() != "size"]
    return (sizes[0] if sizes else None), "download" in read_flags(others, ["download"])
