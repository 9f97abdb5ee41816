"""Multipart forms with a file, streamed from the connection to disk (decision 0031)."""

import hashlib
import logging
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from litestar.exceptions.http_exceptions import RequestEntityTooLarge
from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from adapters.http.request.strict_request import StrictRequest
from adapters.http.strict_reading import ensure_plain, read_json
from domain.entities.sheets import LARGEST_FILE
from domain.errors import BadRequest, PayloadTooLarge, ServiceUnavailable, UnsupportedMediaType, ValidationError

log = logging.getLogger(__name__)

LARGEST_OPTIONS = 64 * 1024
LARGEST_FORM = LARGEST_FILE + 256 * 1024
"""Maximum size of a form: the file and the rest of the form."""
FORM_AROUND = 64 * 1024
"""Maximum size of the rest of a form with a single file."""
_PARTS = 8


@dataclass
class Upload:
    """A form that is filled as its parts arrive.

    ``digest`` identifies the form, ``digests`` the content of each part; ``known`` are the names that parts may have.
    ``largest`` is the maximum size of the file, ``refusal`` the error of a larger one.
    """

    file: BinaryIO
    largest: int
    refusal: PayloadTooLarge
    known: tuple[str, ...] = ("file", "options")
    size: int = 0
    file_name: str = ""
    parts: list[str] = field(default_factory=list)
    options: bytearray = field(default_factory=bytearray)
    digest: bytes = b""
    digests: dict[str, bytes] = field(default_factory=dict)

    def begin(self, part: MultipartSegment) -> None:
        name = part.name
        if name not in self.known:
            raise ValidationError.on(name, f"is not known; a form has {' and '.join(self.known)}")
        if name in self.parts:
            raise ValidationError.on(name, "is given twice")
        self.parts.append(name)
        if name == "file":
            self.file_name = part.filename or ""

    def take(self, piece: bytes) -> None:
        """Add a piece of data to the current part of the form."""
        if self.parts[-1] == "file":
            self.size += len(piece)
            if self.size > self.largest:
                raise self.refusal
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
        upload = Upload(file, LARGEST_FILE, _too_large())
        await _fill(request, boundary, upload)
        yield upload


@asynccontextmanager
async def spooled(
    request: StrictRequest, folder: Path | None, largest: int, refusal: PayloadTooLarge
) -> AsyncIterator[Upload]:
    """Yield a form with only ``file`` like ``uploaded``, as a file with a name in ``folder``."""
    boundary = _boundary(request)
    try:
        with _named_file(folder) as file:
            upload = Upload(file, largest, refusal, known=("file",))
            await _fill(request, boundary, upload)
            yield upload
    except OSError as error:
        log.warning("An upload could not be written to %s: %s", folder, error)
        raise ServiceUnavailable from None


@contextmanager
def _named_file(folder: Path | None) -> Iterator[BinaryIO]:
    if folder is not None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, prefix="upload-") as file:
        yield cast(BinaryIO, file)


async def _fill(request: StrictRequest, boundary: str, upload: Upload) -> None:
    try:
        await _read(request, boundary, upload)
    except MultipartError:
        raise BadRequest("The body is not a whole multipart form.") from None
    except RequestEntityTooLarge:
        raise upload.refusal from None
    if "file" not in upload.parts:
        raise ValidationError.on("file", "is required")
    upload.file.flush()
    upload.file.seek(0)


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
    part = hashlib.sha256()
    async for piece in request.stream():
        if not piece:  # the parser would read the stream's last, empty piece as the form's end
            break
        for event in parser.parse(piece):
            if isinstance(event, MultipartSegment):
                upload.begin(event)
                part = hashlib.sha256()
            elif event is not None:
                upload.take(bytes(event))
                part.update(event)
            elif upload.parts:
                upload.digests[upload.parts[-1]] = part.digest()
    parser.close()
    # Hash each part separately, so that moving bytes between parts changes the digest.
    upload.digest = hashlib.sha256(b"".join(name.encode() + upload.digests[name] for name in upload.parts)).digest()


def _too_large() -> PayloadTooLarge:
    return PayloadTooLarge(f"A file may have {LARGEST_FILE // 2**20} MiB at most.")
