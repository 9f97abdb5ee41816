"""Clients of streams over ASGI: httpx waits for the end of a body."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from tests.contracts.entities.changes.listeners import Listener
from tests.http.app import TestApp
from tests.http.built_once import asgi_of


async def pieces(app: TestApp, path: str, whom: str, query: str = "", **headers: str) -> AsyncGenerator[bytes, None]:
    """The body of an answer as it arrives; the client disconnects when the generator is closed."""
    sent: asyncio.Queue[Any] = asyncio.Queue()
    left = asyncio.Event()
    told = [(b"host", b"localhost"), (b"authorization", f"Bearer {app.tokens[whom]}".encode())]
    told += [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    requests = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> Any:
        if (request := next(requests, None)) is not None:
            return request
        await left.wait()
        return {"type": "http.disconnect"}

    scope: Any = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http"}
    scope |= {"path": f"/api/{path}", "raw_path": f"/api/{path}".encode(), "query_string": query.encode()}
    scope |= {"root_path": "", "headers": told, "server": ("localhost", 80), "client": ("127.0.0.1", 1), "state": {}}
    asgi: Any = asgi_of(app.services)
    task: asyncio.Task[None] = asyncio.create_task(asgi(scope, receive, sent.put))
    try:
        start = await sent.get()
        assert start["status"] == 200, await sent.get()
        names = dict(start["headers"])
        assert names[b"content-type"].startswith(b"text/event-stream")
        assert (names[b"cache-control"], names[b"x-accel-buffering"]) == (b"no-store", b"no")
        more = True
        while more:
            message = await sent.get()
            yield message["body"]
            more = message["more_body"]
    finally:
        left.set()
        await task


async def listen(app: TestApp, path: str, whom: str, query: str = "", **headers: str) -> Listener:
    return await Listener(pieces(app, path, whom, query, **headers)).opened()
