"""/api/files: uploads, and the caller's temporary files."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import msgspec
from litestar import Response, Router, delete, get, post
from msgspec import UNSET, Meta, Struct, UnsetType

from adapters.http.entities.uploads import FORM_AROUND, spooled
from adapters.http.request.export import while_connected
from adapters.http.request.responses import LOCATION, EntityData, NoBody, entity_data, wire_time
from adapters.http.request.rules import ORDINARY, TENANT_TOKEN, Parameter, operation, rules
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from adapters.http.routers import FreshRouter
from application.entities.attachments.uploads import FileUploads, Purpose, Received
from domain.entities.attachments.files import ATTACHED_WITHIN, StoredFile
from domain.entities.declaration import Registry
from domain.errors import PayloadTooLarge, ValidationError, unknown_name
from domain.limits import Limit

UPLOAD = Limit("files.upload", 60)
PURPOSE = Parameter(
    "purpose", {"type": "string", "examples": ["products.photo"]}, "The field that the file is for. Required."
)
TEXT = """A form with one part, `file`. Name the file's `id` in the field of a row within 24 hours, or it is deleted. \
Needs the permission to create or update such rows, and to write the field. The type is found in the content; the name \
and the type that a client sends decide nothing. A user has four uploads at a time, more are refused with 429."""
ERRORS = ("FORBIDDEN", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "QUOTA_EXCEEDED", "UNPROCESSABLE_ENTITY")
FILE_FORM: dict[str, Any] = {
    "multipart/form-data": {
        "schema": {
            "type": "object",
            "required": ["file"],
            "properties": {"file": {"type": "string", "contentMediaType": "application/octet-stream"}},
        }
    }
}


class TemporaryFile(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """An uploaded file that no row holds yet; it is deleted after ``expires_at``."""

    id: UUID
    name: str
    type: str
    size: int
    sha256: str
    state: str
    expires_at: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    width: int | UnsetType = UNSET
    height: int | UnsetType = UNSET


def files_router(uploads: FileUploads, registry: Registry) -> Router:
    fields = [field.attachment for model in registry for field in model.attachments]
    largest = max(each.max_bytes for each in fields if each is not None) + FORM_AROUND

    @post(
        "/",
        **operation(
            "files.upload", "Upload a file", TENANT_TOKEN, *ERRORS, limit=UPLOAD, parameters=(PURPOSE,), form=FILE_FORM
        ),
        description=TEXT,
        response_headers=[LOCATION],
        request_max_body_size=largest,
    )
    async def upload(request: StrictRequest) -> Response[EntityData[TemporaryFile]]:
        caller = request.caller
        with uploads.figures.upload():
            purpose = uploads.purpose(caller, _purpose(request))
            _ensure_small(request, purpose)
            with uploads.slots.taken(caller):
                async with _received(request, uploads, purpose) as received:
                    storing = uploads.upload(caller, request.from_client, purpose, received)
                    file = await while_connected(request.receive, storing)
        return _shown(request, file, 201, {"location": f"/api/files/{file.id}"})

    @get("/{id:str}", **operation("files.read", "Read one's temporary file", TENANT_TOKEN, limit=ORDINARY))
    async def read(request: StrictRequest, id: PathId) -> Response[EntityData[TemporaryFile]]:  # noqa: A002  # as in the path
        return _shown(request, await uploads.temporary(request.caller, read_id(id)), 200, {})

    @delete("/{id:str}", **operation("files.delete", "Delete one's temporary file", TENANT_TOKEN, limit=ORDINARY))
    async def remove(request: StrictRequest, id: PathId) -> Response[None]:  # noqa: A002  # as in the path
        await uploads.discard(request.caller, read_id(id))
        return NoBody()

    return FreshRouter(
        "/api/files", route_handlers=[upload, read, remove], tags=["files"], opt=rules(area="B", any_query=False)
    )


def _purpose(request: StrictRequest) -> str | None:
    found: str | None = None
    for name, text in request.parameters():
        if name.lower() != "purpose":
            raise ValidationError.on(name, unknown_name(name, ["purpose"]))
        if found is not None:
            raise ValidationError.on(name, "is given twice")
        found = text
    return found


def _ensure_small(request: StrictRequest, purpose: Purpose) -> None:
    """Raise PayloadTooLarge before the body is read."""
    announced = request.header(b"content-length") or ""
    if announced.isdecimal() and int(announced) > purpose.rules.max_bytes + FORM_AROUND:
        raise too_large(purpose.rules.max_bytes)


@asynccontextmanager
async def _received(request: StrictRequest, uploads: FileUploads, purpose: Purpose) -> AsyncIterator[Received]:
    most = purpose.rules.max_bytes
    async with spooled(request, uploads.spool, most, too_large(most)) as upload:
        yield Received(Path(upload.file.name), upload.file_name, upload.size, upload.digests["file"].hex())


def too_large(most: int) -> PayloadTooLarge:
    return PayloadTooLarge(f"The file may have {most:,} bytes at most.")


def _shown(request: StrictRequest, file: StoredFile, status: int, headers: dict[str, str]) -> Response[Any]:
    shown = TemporaryFile(
        id=file.id,
        name=file.name,
        type=file.type,
        size=file.size,
        sha256=file.sha256,
        state=file.state,
        expires_at=_expiry(file.since),
        width=UNSET if file.width is None else file.width,
        height=UNSET if file.height is None else file.height,
    )
    return entity_data(request, msgspec.json.encode(shown), status, headers)


def _expiry(since: datetime) -> str:
    return wire_time(since + ATTACHED_WITHIN)
