"""Forms with a file: read from the wire to the disk, piece by piece."""

import hashlib
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import BinaryIO

from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from adapters.http.request.body import Arriving, declared_length
from adapters.http.request.endpoint import Call
from adapters.http.request.strict_json import read_json
from domain.entities.sheets import LARGEST_FILE
from domain.errors import BadRequest, PayloadTooLarge, UnsupportedMediaType, ValidationError

LARGEST_OPTIONS = 64 * 1024
_AROUND = 256 * 1024
"""What a form may have around its file."""
_PARTS = 8


@dataclass
class Upload:
    """``digest`` tells one form from another."""

    file: BinaryIO
    size: int = 0
    has_file: bool = False
    options: bytearray = field(default_factory=bytearray)
    digest: bytes = b""


@asynccontextmanager
async def uploaded(call: Call) -> AsyncIterator[Upload]:
    """The form's ``file``, which has no name on the disk, and goes with the block; raises before all of it has come."""
    boundary = _boundary(call)
    if declared_length(call.headers.get(b"content-length")) > LARGEST_FILE + _AROUND:
        raise _too_large()
    with tempfile.TemporaryFile() as file:
        upload = Upload(file)
        try:
            await _read(call, boundary, upload)
        except MultipartError:
            raise BadRequest("The body is not a whole multipart form.") from None
        if not upload.has_file:
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
        raise ValidationError.on("options", f"takes a JSON object: {error.message}") from None
    if not isinstance(value, dict):
        raise ValidationError.on("options", "takes a JSON object")
    return value


def _boundary(call: Call) -> str:
    kind, parameters = parse_options_header(call.header(b"content-type") or "")
    if kind.lower() != "multipart/form-data":
        raise UnsupportedMediaType("Send the file as multipart/form-data.")
    if not parameters.get("boundary"):
        raise BadRequest("The content type names no boundary.")
    return str(parameters["boundary"])


async def _read(call: Call, boundary: str, upload: Upload) -> None:
    parser, sink, seen = PushMultipartParser(boundary, max_segment_count=_PARTS), _Sink(upload), 0
    digest = hashlib.sha256()
    async for piece in _pieces(call):
        seen += len(piece)
        if seen > LARGEST_FILE + _AROUND:
            raise _too_large()
        for event in parser.parse(piece):
            if isinstance(event, MultipartSegment):
                sink.begin(event)
            elif event is not None:
                sink.take(bytes(event))
                digest.update(event)
    parser.close()
    upload.digest = digest.digest()


class _Sink:
    def __init__(self, upload: Upload) -> None:
        self._upload = upload
        self._names: set[str] = set()
        self._name = ""

    def begin(self, segment: MultipartSegment) -> None:
        self._name = segment.name
        if self._name not in ("file", "options"):
            raise ValidationError.on(self._name, "is not known; a form has file and options")
        if self._name in self._names:
            raise ValidationError.on(self._name, "is given twice")
        self._names.add(self._name)
        self._upload.has_file |= self._name == "file"

    def take(self, piece: bytes) -> None:
        upload = self._upload
        if self._name == "file":
            upload.size += len(piece)
            if upload.size > LARGEST_FILE:
                raise _too_large()
            upload.file.write(piece)
            return
        upload.options += piece
        if len(upload.options) > LARGEST_OPTIONS:
            raise ValidationError.on("options", f"takes {LARGEST_OPTIONS // 1024} kB at most")


def _too_large() -> PayloadTooLarge:
    return PayloadTooLarge(f"A file may have {LARGEST_FILE // 2**20} MiB at most.")


async def _pieces(call: Call) -> AsyncIterator[bytes]:
    assert call.receive is not None
    arriving, is_more = Arriving(call.receive), True
    while is_more:
        piece, is_more = await arriving.next()
        if piece:
            yield piece
