"""Encoded responses, and the success envelopes of both areas."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar, cast

import msgspec
from litestar import Response
from litestar.datastructures import ResponseHeader
from litestar.openapi.datastructures import ResponseSpec
from litestar.response.base import ASGIResponse
from litestar.types import Receive, Scope, Send

from adapters.http.request.strict_request import StrictRequest

T = TypeVar("T")

Headers = Mapping[str, str]

JSON = "application/json"
NO_STORE = {"cache-control": "no-store"}
"""Forbids all caches, including browsers, to store area A's data on persons and their rights."""
BODILESS = (204, 304)
LOCATION = ResponseHeader(
    name="Location", description="The path where what was made is read, alone or in a list.", documentation_only=True
)
ETAG = ResponseHeader(
    name="ETag", description="The version, for `If-Match` and `If-None-Match`.", documentation_only=True
)
NOT_MODIFIED = {304: ResponseSpec(None, description="Not modified.", generate_examples=False)}


class Data(Generic[T]):
    """Envelope of area A, for annotations: ``{"isSuccess": true, "data": T}``."""


class MessageOnly:
    """Envelope of area A without data: ``{"isSuccess": true, "message": "…"}``."""


class Success(Generic[T]):
    """Envelope of registration: ``{"success": true, "data": T}``."""


class EntityData(Generic[T]):
    """Envelope of area B: ``{"success": true, "data": T, "meta": {…}}``."""


def enveloped(kind: Any) -> Any:
    """Return ``EntityData[kind]`` for a type created at startup."""
    return EntityData[kind]


class Bytes(Response[Any]):
    """An encoded body, sent as two messages.

    Litestar needs 17 of the 32 µs of its plainest request to convert a Response to these messages. That conversion is
    used only if a layer adds headers, cookies or a background task.
    """

    def __init__(self, body: bytes, media_type: str, status: int | None = None, headers: Headers | None = None) -> None:
        super().__init__(body, status_code=status, headers=headers, media_type=media_type)

    def to_asgi_response(self, *args: Any, **options: Any) -> ASGIResponse:
        if self.background or self.cookies or any(options.get(name) for name in ("headers", "cookies", "background")):
            return super().to_asgi_response(*args, **options)
        self.status_code = self.status_code or options["status_code"]
        return cast(ASGIResponse, self.respond)

    async def respond(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  # ASGI
        """Send the response as it is, for callers with a ``send`` and no handler."""
        status = cast(int, self.status_code)
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self.headers.items()]
        if self.content:
            headers.append((b"content-type", cast(str, self.media_type).encode("latin-1")))
        if status not in BODILESS:
            headers.append((b"content-length", b"%d" % len(self.content)))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": self.content, "more_body": False})


class Json(Bytes):
    """An encoded JSON body; ``status`` defaults to the handler's ``status_code``."""

    def __init__(self, body: bytes, status: int | None = None, headers: Headers | None = None) -> None:
        super().__init__(body, JSON, status, headers)


class NoBody(Bytes):
    """A response without a body: 204, 304."""

    def __init__(self, status: int = 204, headers: Headers | None = None) -> None:
        super().__init__(b"", JSON, status, headers)


def bare(value: object, status: int | None = None, headers: Headers | None = None) -> Json:
    """Return a response without envelope, as for lists of users, roles and permissions."""
    return Json(msgspec.json.encode(value), status, {**NO_STORE, **(headers or {})})


def identity_data(value: object, status: int | None = None, headers: Headers | None = None) -> Json:
    body = b'{"isSuccess":true,"data":' + msgspec.json.encode(value) + b"}"
    return Json(body, status, {**NO_STORE, **(headers or {})})


def identity_message(text: str) -> Json:
    """Return area A's envelope without data. A DELETE answers 200 with it, because a 204 has no body."""
    return Json(msgspec.json.encode({"isSuccess": True, "message": text}))


def entity_data(request: StrictRequest, body: bytes, status: int | None = None, headers: Headers | None = None) -> Json:
    """Return area B's envelope around ``body``, JSON text."""
    at, request_id = wire_time(request.at), request.from_client.request_id
    meta = f',"meta":{{"timestamp":"{at}","requestId":"{request_id}"}}}}'
    return Json(b'{"success":true,"data":' + body + meta.encode("ascii"), status, headers)


def wire_time(at: datetime) -> str:
    """Format a timestamp with six digits of a second, as in rows."""
    return at.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def etag(version: int) -> str:
    """Return the entity tag of a version: 3 → ``"3"`` with its quotes."""
    return f'"{version}"'
