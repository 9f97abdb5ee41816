"""Files that are served with an ETag, and the folder of markup and scripts that are served as they are."""

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
"""Codings that files are compressed with at build, the smaller one first, and the ends of the files' names."""

_KINDS = {**TYPES, ".html": HTML, ".svg": "image/svg+xml", ".png": "image/png", ".woff2": "font/woff2"}
# a name with the hash of its content is never the name of another content
_HASHED = re.compile(r"-[0-9A-Za-z]{8,}\.\w+")
_PLAIN = "text/plain; charset=utf-8"

ALONE = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""End of the content security policy of a page without forms that leave it and without pages around it."""


@dataclass(frozen=True)
class File:
    content: bytes
    kind: str
    tag: str
    headers: Mapping[str, str]

    def response(self, request: StrictRequest) -> Bytes:
        """The file, or 304 where the client has it."""
        headers = {"etag": self.tag, "cache-control": "public, max-age=0, must-revalidate", **self.headers}
        return NoBody(304, headers) if request.knows(self.tag) else Bytes(self.content, self.kind, 200, headers)


def file_of(content: bytes, kind: str, headers: Mapping[str, str] = NOTHING_MORE) -> File:
    return File(content, kind, f'"{hashlib.sha256(content).hexdigest()[:32]}"', headers)


@lru_cache
def asset(name: str, coding: str | None = None) -> File:
    """The file, or what was made of it by ``gzip -9n`` and stands beside it."""
    path, kind = ASSETS / name, TYPES.get(Path(name).suffix, _PLAIN)
    if coding is None:
        return file_of(path.read_bytes(), kind, VARIES)
    return file_of(path.with_name(f"{name}.gz").read_bytes(), kind, {**VARIES, "content-encoding": coding})


Variants = Mapping[str | None, File]
"""A file by its coding; None is the file as it is."""


def unpacked(folder: Path) -> dict[str, bytes]:
    """Files of a build by name; one that is there as ``.gz`` is there as it was before as well."""
    stored = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    plain = {name.removesuffix(".gz"): gzip.decompress(packed) for name, packed in stored.items() if name[-3:] == ".gz"}
    return {**plain, **stored}


def compressed(files: Mapping[str, bytes], headers: Mapping[str, str]) -> Iterator[tuple[str, Variants]]:
    """Files of a build with the forms that they were compressed to; a name with a hash is kept for a year."""
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
    """The smallest form that the client takes."""
    offered = [coding for coding in CODINGS if coding in variants]
    return variants[chosen_coding(request.header(b"accept-encoding"), offered)]


def file_handler(path: str, name: str, chosen: Callable[[StrictRequest], File]) -> HTTPRouteHandler:
    """Serves files to anybody, beside the document: ``chosen`` tells which, or raises NotFound."""

    async def serve(request: StrictRequest) -> Response[Any]:
        return chosen(request).response(request)

    return get(path, **unlisted(name))(serve)
