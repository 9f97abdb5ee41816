"""Calls an application in this process with whatever bytes: httpx would refuse or mend what hostile clients send."""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

import httpx
from msgspec import Struct

LONGEST = 60_000  # of what httpx takes for a URL
Message = Mapping[str, Any]


class Hostile(Struct, frozen=True):
    """A request as a server sees it: ``target`` is the path with its query, percent-encoded."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


async def send(application: Any, request: Hostile) -> httpx.Response:
    """The whole response. Raises what the application raises."""
    messages: list[Message] = []
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            await asyncio.Event().wait()  # the client stays until it has the whole response
        sent = True
        return {"type": "http.request", "body": request.body, "more_body": False}

    async def take(message: Message) -> None:
        messages.append(message)

    await application(_scope(request), receive, take)
    start = messages[0]
    body = b"".join(message.get("body", b"") for message in messages[1:])
    asked = httpx.Request(request.method, f"http://localhost{request.target.partition('?')[0][:LONGEST]}")
    return httpx.Response(start["status"], headers=start["headers"], content=body, request=asked)


def _scope(request: Hostile) -> dict[str, Any]:
    path, _, query = request.target.partition("?")
    headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in request.headers]
    length = str(len(request.body)).encode()
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        # as granian and uvicorn do: what is no UTF-8 reaches the application as replacement characters
        "path": unquote_to_bytes(path).decode("utf-8", "replace"),
        "raw_path": path.encode("latin-1", "replace"),
        "query_string": query.encode("latin-1", "replace"),
        "root_path": "",
        "headers": [(b"host", b"localhost"), (b"content-length", length), *headers],
        "server": ("localhost", 80),
        "client": ("127.0.0.1", 1234),
    }
