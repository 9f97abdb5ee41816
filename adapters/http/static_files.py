"""Files served with an ETag, and the folder of markup and scripts."""

import gzip
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

from adapters.http.request.quality_values import chosen_coding
from adapters.http.request.responses import Bytes, NoBody
from adapters.http.request.rules import unlisted
from adapters.http.request.strict_request import StrictRequest

ASSETS = Path(__file__).parent / "assets"
HTML = "text/html; charset=utf-8"
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
NOTHING_MORE: Mapping[str, str] = MappingProxyType({})
VARIES = {"vary": "Accept-Encoding"}
FOR_A_YEAR = {"cache-control": "public, max-age=31536000, immutable"}
CODINGS = {"br": ".br", "gzip": ".gz"}
"""Content codings of files compressed at build, the smaller first, with their file name endings."""

_KINDS = {**TYPES, ".html": HTML, ".svg": "image/svg+xml", ".png": "image/png", ".woff2": "font/woff2"}
# The name contains the hash of the content, so the content never changes.
_HASHED = re.compile(r"-[0-9A-Za-z]{8,}\.\w+")
_PLAIN = "text/plain; charset=utf-8"

ALONE = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""End of the content security policy for pages that have no forms to other hosts and that no page may embed."""


@dataclass(frozen=True)
class File:
    content: bytes
    kind: str
    tag: str
    headers: Mapping[str, str]

    def response(self, request: StrictRequest) -> Bytes:
        """Return the file, or 304 if the client has it."""
        headers = {"etag": self.tag, "cache-control": "public, max-age=0, must-revalidate", **self.headers}
        return NoBody(304, headers) if request.knows(self.tag) else Bytes(self.content, self.kind, 200, headers)


def file_of(content: bytes, kind: str, headers: Mapping[str, str] = NOTHING_MORE) -> File:
    return File(content, kind, f'"{hashlib.sha256(content).hexdigest()[:32]}"', headers)


@lru_cache
def asset(name: str, coding: str | None = None) -> File:
    """Return the file, or its compressed form by ``gzip -9n``."""
    path, kind = ASSETS / name, TYPES.get(Path(name).suffix, _PLAIN)
    if coding is None:
        return file_of(path.read_bytes(), kind, VARIES)
    return file_of(path.with_name(f"{name}.gz").read_bytes(), kind, {**VARIES, "content-encoding": coding})


Variants = Mapping[str | None, File]
"""Variants of a file by coding; None is the uncompressed file."""


def unpacked(folder: Path) -> dict[str, bytes]:
    """Return a build's files by name; ``.gz`` files are also returned uncompressed."""
    stored = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    plain = {name.removesuffix(".gz"): gzip.decompress(packed) for name, packed in stored.items() if name[-3:] == ".gz"}
    return {**plain, **stored}


def compressed(files: Mapping[str, bytes], headers: Mapping[str, str]) -> Iterator[tuple[str, Variants]]:
    """Return a build's files with their compressed forms. Browsers cache a file with a hash in its name for a year."""
    for name, content in files.items():
        path = PurePosixPath(name)
        if path.suffix in CODINGS.values():
            continue
        cached = FOR_A_YEAR if _HASHED.search(path.name) else NOTHING_MORE
        kind, all_headers = _KINDS.get(path.suffix, _PLAIN), {**headers, **cached, **VARIES}
        variants: dict[str | None, File] = {None: file_of(content, kind, all_headers)}
        for coding, end in CODINGS.items():
            if (packed := files.get(name + end)) is not None:
                variants[coding] = file_of(packed, kind, {**all_headers, "content-encoding": coding})
        yield name, variants


def variant(request: StrictRequest, variants: Variants) -> File:
    """Return the smallest form that the client accepts."""
    offered = [coding for coding in CODINGS if coding in variants]
    return variants[chosen_coding(request.header(b"accept-encoding"), offered)]


def file_handler(path: str, name: str, chosen: Callable[[StrictRequest], File]) -> HTTPRouteHandler:
    """Return a handler of files, outside the document, without a token; ``chosen`` selects one or raises NotFound."""

    async def serve(request: StrictRequest) -> Response[Any]:
        return chosen(request).response(request)

    return get(path, **unlisted(name))(serve)
