"""What goes right: both areas' success envelopes, with bodies spliced in as the store made them."""

from datetime import datetime

import msgspec
from msgspec import Struct

from adapters.http.request.endpoint import Answer, Call, Headers

JSON = (b"content-type", b"application/json")
NO_STORE = (b"cache-control", b"no-store")
NO_CONTENT = Answer(204)


def wire_time(at: datetime) -> str:
    """Always six digits, as in every row."""
    return at.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def bare(value: object, status: int = 200, headers: Headers = ()) -> Answer:
    """Lists of users, roles and permissions have no envelope."""
    return Answer(status, msgspec.json.encode(value), (JSON, *headers))


def data(value: object, status: int = 200, headers: Headers = ()) -> Answer:
    """Area A's envelope."""
    return Answer(status, b'{"isSuccess":true,"data":' + msgspec.json.encode(value) + b"}", (JSON, *headers))


def message(text: str) -> Answer:
    return Answer(200, msgspec.json.encode({"isSuccess": True, "message": text}), (JSON,))


def tokens(result: Struct) -> Answer:
    """No cache on the way may keep a token."""
    return data(result, headers=(NO_STORE,))


def location(path: str) -> tuple[bytes, bytes]:
    return b"location", path.encode("ascii")


def entity_data(call: Call, body: bytes, status: int = 200, headers: Headers = ()) -> Answer:
    """Area B's envelope; ``body`` is JSON already."""
    return Answer(status, b'{"success":true,"data":' + body + _meta(call), (JSON, *headers))


def _meta(call: Call) -> bytes:
    said = f',"meta":{{"timestamp":"{wire_time(call.at)}","requestId":"{call.request_id}"}}}}'
    return said.encode("ascii")


def etag(version: int) -> tuple[bytes, bytes]:
    return b"etag", b'"%d"' % version
