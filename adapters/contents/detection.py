"""Detection of types: declared types only, most specific first."""

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

import puremagic

from adapters.contents.images import HEADERS, Pixels, pixels_of
from adapters.contents.metadata import strip_metadata
from adapters.contents.signatures import SIGNATURES, Sample, types_of
from adapters.contents.texts import is_json, is_text
from application.ports.entities.attachments import Content
from domain.errors import BadRequest, UnsupportedMediaType

MOST_PIXELS = 50_000_000
"""Maximum pixels of an image: a decoder needs up to four bytes for each."""
_OFFICE = "application/vnd.openxmlformats-officedocument."
_MAIN = re.compile(
    rb"""ContentType\s*=\s*["']application/vnd\.openxmlformats-officedocument\."""
    rb"""(wordprocessingml\.document|spreadsheetml\.sheet|presentationml\.presentation)\.main\+xml["']"""
)
_CONTENT_TYPES = "[Content_Types].xml"
_LARGEST_CONTENT_TYPES = 1024 * 1024
# Browsers look for these at the begin of a file whose type they do not trust.
_MARKUP = re.compile(rb"<(?:!doctype|html|head|body|script|iframe|svg)[\s>/]", re.IGNORECASE)
_LOOKED_AT = 1024
_NAME = re.compile(r"[a-z]+/[A-Za-z0-9.+-]{1,80}")
ANY_CONTENT = "application/octet-stream"


class Parts(Protocol):
    """Entries of an archive that has passed the checks of Office files."""

    def pieces(self, name: str) -> Iterator[bytes]: ...


@dataclass(frozen=True)
class DetectedContents:
    """Reads files in a thread. ``office`` opens the archive of an Office file, and raises BadRequest."""

    office: Callable[[BinaryIO], Parts]
    # One file at a time: uploads in parallel must not occupy the threads of password hashes and downloads.
    lane: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def detect(self, path: Path, types: Sequence[str]) -> Content:
        async with self.lane:
            return await asyncio.to_thread(self._detect, path, types)

    async def strip(self, path: Path, media_type: str) -> None:
        async with self.lane:
            await asyncio.to_thread(strip_metadata, path, media_type)

    def _detect(self, path: Path, types: Sequence[str]) -> Content:
        with path.open("rb") as file:
            sample = Sample.of(file)
            images = dict(_images(sample))
            found = [*images, *self._types(sample, types)]
            for media_type in types:
                if media_type in images:
                    return _bounded(media_type, images[media_type])
                if media_type in found or (not found and _is_text_of(file, media_type)):
                    return Content(media_type)
            if ANY_CONTENT in types:
                return Content(ANY_CONTENT)
            if not path.stat().st_size:
                raise UnsupportedMediaType(f"The file is empty. Accepted types: {', '.join(types)}.")
            name = found[0] if found else _named(file)
            raise UnsupportedMediaType(f"The content is {name}. Accepted types: {', '.join(types)}.")

    def _types(self, sample: Sample, types: Sequence[str]) -> Iterator[str]:
        for media_type in types_of(sample):
            if media_type == "application/pdf" and _MARKUP.search(sample.head[:_LOOKED_AT]):
                continue
            # The check inflates the whole archive, so run it only for fields that need it.
            if media_type == "application/zip" and any(declared.startswith(_OFFICE) for declared in types):
                yield from self._office_types(sample.file)
            yield media_type

    def _office_types(self, file: BinaryIO) -> Iterator[str]:
        with suppress(BadRequest):
            text = b""
            for piece in self.office(file).pieces(_CONTENT_TYPES):
                text += piece
                if len(text) > _LARGEST_CONTENT_TYPES:
                    return
            kinds = set(_MAIN.findall(text))
            if len(kinds) == 1:
                yield _OFFICE + kinds.pop().decode()


def _images(sample: Sample) -> Iterator[tuple[str, Pixels]]:
    if _MARKUP.search(sample.head[:_LOOKED_AT]):
        return
    for media_type in HEADERS:
        if (pixels := pixels_of(sample.file, media_type)) is not None:
            yield media_type, pixels


def _bounded(media_type: str, pixels: Pixels) -> Content:
    width, height = pixels
    if width * height > MOST_PIXELS:
        raise UnsupportedMediaType(
            f"The image has {width} × {height} pixels; it may have {MOST_PIXELS // 10**6} million at most."
        )
    return Content(media_type, width, height)


def _is_text_of(file: BinaryIO, media_type: str) -> bool:
    match media_type:
        case "text/plain" | "text/csv":
            return is_text(file)
        case "application/json":
            return is_text(file) and is_json(file)
    return False


def _named(file: BinaryIO) -> str:
    """Name the type of content that no check accepts, for the error."""
    file.seek(0)
    with suppress(puremagic.PureError, ValueError):
        for match in puremagic.magic_stream(file):
            if len(match.byte_match) > 2 and _NAME.fullmatch(match.mime_type):
                return (
                    f"not a whole {match.mime_type}" if match.mime_type in {*HEADERS, *SIGNATURES} else match.mime_type
                )
    return "text/plain" if is_text(file) else ANY_CONTENT
