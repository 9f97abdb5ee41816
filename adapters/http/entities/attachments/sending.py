"""Responses with the content of a file."""

from collections.abc import AsyncGenerator, Collection, Mapping
from typing import Any

from litestar import Response
from litestar.datastructures import ResponseHeader
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Operation

from adapters.http.entities.attachments.ranges import ByteRange, UnsatisfiableRange, read_range
from adapters.http.request.export import Export
from adapters.http.request.responses import NoBody
from adapters.http.request.strict_request import StrictRequest
from application.entities.attachments.contents import FileContents, Shown
from application.entities.attachments.thumbnails import THUMBNAIL_TYPE
from application.ports.entities.attachments import ObjectMissing
from domain.entities.attachments.files import StoredFile
from domain.entities.attachments.names import content_disposition
from domain.errors import NotFound

FOR_THE_CALLER = "private, no-cache"
BY_LINK = "private, max-age=300"
_SAFE = {
    # Security: a browser must not run content of users in the origin of the service.
    "content-security-policy": "sandbox; default-src 'none'",
    "cross-origin-resource-policy": "same-site",
    "referrer-policy": "no-referrer",
    "accept-ranges": "bytes",
}
ETAG = ResponseHeader(
    name="ETag", description="The digest of the content, for `If-None-Match`.", documentation_only=True
)
_ADDRESS = {"schema": {"type": "string"}, "description": "An address of the store, for 60 seconds."}
ANSWERS: Mapping[int, ResponseSpec] = {
    302: ResponseSpec(None, description="The content is at the address in `Location`.", generate_examples=False),
    206: ResponseSpec(None, description="The part that `Range` names.", generate_examples=False),
    304: ResponseSpec(None, description="Not modified.", generate_examples=False),
    416: ResponseSpec(None, description="`Range` begins after the end.", generate_examples=False),
}


def content_operation(types: Collection[str]) -> type[Operation]:
    """Return the operation class of a handler that sends files of these types."""

    class ContentOperation(Operation):
        def to_schema(self) -> dict[str, Any]:
            described = super().to_schema()
            responses = described["responses"]
            whole = responses["200"]
            whole["content"] = {media_type: {"schema": {}} for media_type in sorted(types)}
            responses["206"] |= {"headers": whole["headers"], "content": whole["content"]}
            responses["416"] |= {"headers": whole["headers"]}
            responses["302"]["headers"] = {**responses["302"].get("headers", {}), "Location": _ADDRESS}
            return described

    return ContentOperation


# Compressed pieces would have another length than the headers say.
UNCOMPRESSED = "is_uncompressed"
"""Key in ``opt`` of a handler with responses that are sent as they are."""


async def sent(request: StrictRequest, contents: FileContents, shown: Shown, kept: str) -> Response[Any]:
    """Return the content, or the part that the client asks for; ``kept`` is the header ``Cache-Control``."""
    file, tag = shown.file, f'"{shown.tag}"'
    headers = {**_SAFE, "etag": tag, "cache-control": kept}
    if request.knows(tag):
        return NoBody(304, headers)
    # The signature of the address is for GET only.
    if request.method == "GET" and (address := await contents.address(shown)) is not None:
        return NoBody(302, {**_SAFE, "location": address, "cache-control": "no-store"})
    disposition = content_disposition("inline" if shown.is_inline else "attachment", file.name)
    headers |= {"content-disposition": disposition}
    if shown.size is not None:
        thumbnail = await contents.thumbnail(shown)
        name = f"{file.name.rpartition('.')[0] or file.name}-{shown.size}.webp"
        headers |= {"content-disposition": content_disposition("inline" if shown.is_inline else "attachment", name)}
        return Response(thumbnail, media_type=THUMBNAIL_TYPE, headers=headers)
    # A part of another version than the client has would not fit.
    asked = request.header(b"range") if request.header(b"if-range") in (None, tag) else None
    try:
        part = read_range(asked, file.size)
    except UnsatisfiableRange:
        return NoBody(416, {**headers, "content-range": f"bytes */{file.size}"})
    length = file.size if part is None else part.length
    headers |= {"content-length": str(length)} | ({"content-range": part.header(file.size)} if part else {})
    pieces = _pieces(contents, file, part)
    return Export(pieces, media_type=file.type, headers=headers, status_code=206 if part else 200)


async def _pieces(contents: FileContents, file: StoredFile, part: ByteRange | None) -> AsyncGenerator[bytes, None]:
    start, length = part or (0, file.size or None)
    try:
        async with contents.open(file, start, length) as pieces:
            async for piece in pieces:
                yield piece
    except ObjectMissing:
        raise NotFound from None
