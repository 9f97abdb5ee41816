"""Files that are served with an ETag, and the folder of markup and scripts that are served as they are."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

from adapters.http.request.responses import Bytes, NoBody
from adapters.http.request.rules import unlisted
from adapters.http.request.strict_request import StrictRequest

ASSETS = Path(__file__).parent / "assets"
HTML = "text/html; charset=utf-8"
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
NOTHING_MORE: Mapping[str, str] = MappingProxyType({})
VARIES = {"vary": "Accept-Encoding"}

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
    path, kind = ASSETS / name, TYPES.get(Path(name).suffix, "text/plain; charset=utf-8")
    if coding is None:
        return file_of(path.read_bytes(), kind, VARIES)
    return file_of(path.with_name(f"{name}.gz").read_bytes(), kind, {**VARIES, "content-encoding": coding})


def file_handler(path: str, name: str, chosen: Callable[[StrictRequest], File]) -> HTTPRouteHandler:
    """Serves files to anybody, beside the document: ``chosen`` tells which, or raises NotFound."""

    async def serve(request: StrictRequest) -> Response[Any]:
        return chosen(request).response(request)

    return get(path, **unlisted(name))(serve)
