"""Multipart forms with a file, streamed from the connection to disk (decision 0031)."""

import hashlib
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import BinaryIO

from litestar.exceptions.http_exceptions import RequestEntityTooLarge
from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from adapters.http.request.strict_request import StrictRequest
from adapters.http.strict_reading import ensure_plain, read_json
from domain.entities.sheets import LARGEST_FILE
from domain.errors import BadRequest, PayloadTooLarge, UnsupportedMediaType, ValidationError

LARGEST_OPTIONS = 64 * 1024
LARGEST_FORM = LARGEST_FILE + 256 * 1024
"""Maximum size of a form: the file and the rest of the form."""
_PARTS = 8


@dataclass
class Upload:
    """A form that is filled as its parts arrive; ``digest`` identifies the form, ``parts`` are the part names."""

    file: BinaryIO
    size: int = 0
    parts: list[str] = field(default_factory=list)
    options: bytearray = field(default_factory=bytearray)
    digest: bytes = b""

    def begin(self, name: str) -> None:
        if name not in ("file", "options"):
            raise ValidationError.on(name, "is not known; a form has file and options")
        if name in self.parts:
            raise ValidationError.on(name, "is given twice")
        self.parts.append(name)

    def take(self, piece: bytes) -> None:
        """Add a piece of data to the current part of the form."""
        if self.parts[-1] == "file":
            self.size += len(piece)
            if self.size > LARGEST_FILE:
                raise _too_large()
            self.file.write(piece)
            return
        self.options += piece
        if len(self.options) > LARGEST_OPTIONS:
            raise ValidationError.on("options", f"must not exceed {LARGEST_OPTIONS // 1024} kB")


@asynccontextmanager
async def uploaded(request: StrictRequest) -> AsyncIterator[Upload]:
    """Yield the form's ``file`` as a temporary file, deleted afterwards. May raise before the whole
    body has arrived.
    """
    boundary = _boundary(request)
    with tempfile.TemporaryFile() as file:
        upload = Upload(file)
        try:
            await _read(request, boundary, upload)
        except MultipartError:
            raise BadRequest("The body is not a whole multipart form.") from None
        except RequestEntityTooLarge:
            raise _too_large() from None
        if "file" not in upload.parts:
            raise ValidationError.on("file", "is required")
        file.flush()
        file.seek(0)
        yield upload


def options_of(upload: Upload) -> dict[str, object]:
    if not upload.options.strip():
        return {}
    try:
        value = read_json(bytes(upload.options), decimals=False)
    except BadRequest as error:
        raise ValidationError.on("options", f"must be a JSON object: {error.message}") from None
    if not isinstance(value, dict):
        raise ValidationError.on("options", "must be a JSON object")
    return value


def _boundary(request: StrictRequest) -> str:
    kind, parameters = parse_options_header(request.header(b"content-type") or "")
    if kind.lower() != "multipart/form-data":
        raise UnsupportedMediaType("Send the file as multipart/form-data.")
    ensure_plain(request.header(b"content-encoding"))
    if not parameters.get("boundary"):
        raise BadRequest("The content type names no boundary.")
    return str(parameters["boundary"])


async def _read(request: StrictRequest, boundary: str, upload: Upload) -> None:
    """Read and check each part of the form as it arrives. Litestar's stream enforces the handler's limit."""
    parser = PushMultipartParser(boundary, max_segment_count=_PARTS)
    # Hash each part separately, so that moving bytes between parts changes the digest.
    whole, part = hashlib.sha256(), hashlib.sha256()
    async for piece in request.stream():
        if not piece:  # the parser would read the stream's last, empty piece as the form's end
            break
        for event in parser.parse(piece):
            if isinstance(event, MultipartSegment):
                upload.begin(event.name)
                whole.update(part.digest() + event.name.encode())
                part = hashlib.sha256()
            elif event is not None:
                upload.take(bytes(event))
                part.update(event)
    parser.close()
    whole.update(part.digest())
    upload.digest = whole.digest()


def _too_large() -> PayloadTooLarge:
    return PayloadTooLarge(f"A file may have {LARGEST_FILE // 2**20} MiB at most.")
