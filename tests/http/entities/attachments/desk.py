"""Applications with entities that hold files, and the requests of their users."""

import struct
import zlib
from typing import Any

from tests.contracts.entities.attachments.entities import ATTACHED
from tests.http.app import Json, TestApp, open_test_app
from tests.http.conftest import seed


def png(width: int = 3, height: int = 2) -> bytes:
    """A small grey picture."""
    rows = b"".join(b"\0" + b"\x80" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


async def open_desk(environment: dict[str, str] | None = None) -> TestApp:
    app = await open_test_app(environment, entities=ATTACHED)
    await seed(app)
    return app


async def send(
    app: TestApp,
    content: bytes | None = None,
    purpose: str = "items.photo",
    name: str = "photo.png",
    whom: str = "acme",
) -> Any:
    sent = png() if content is None else content
    files = {"file": (name, sent, "text/html")}
    return await app.call("POST", f"/api/files?purpose={purpose}", as_whom=whom, files=files)


async def uploaded(app: TestApp, content: bytes | None = None, purpose: str = "items.photo", **more: str) -> str:
    answer = await send(app, content, purpose, **more)
    assert answer.status_code == 201, answer.text
    file_id: str = answer.json()["data"]["id"]
    return file_id


async def made(app: TestApp, whom: str = "acme", plural: str = "items", **values: object) -> Json:
    answer = await app.call("POST", f"/api/{plural}", as_whom=whom, json=values)
    assert answer.status_code == 201, answer.text
    row: Json = answer.json()["data"]
    return row


async def with_photo(app: TestApp, content: bytes | None = None, whom: str = "acme") -> str:
    """Make an item with a photo; return its path."""
    photo = await uploaded(app, content, whom=whom)
    row = await made(app, whom, code=f"item {photo}", photoId=photo)
    return f"/api/items/{row['id']}"
