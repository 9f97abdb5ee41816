"""Ways to send requests to the service: a process of its own, or the application in this one."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Protocol

import httpx

from tests.entrypoints.pair import ADDRESSES
from tests.http.app import TestApp, open_test_app
from tests.waiting import HUNG_AFTER


class ServiceClient(Protocol):
    def ask(self, method: str, path: str, body: object = None, token: str | None = None) -> httpx.Response: ...


class ProcessClient:
    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def ask(self, method: str, path: str, body: object = None, token: str | None = None) -> httpx.Response:
        headers = {"X-Forwarded-For": HOME, **_bearer(token)}
        return self._client.request(method, path, json=body, headers=headers)


class MemoryClient:
    def __init__(self, loop: asyncio.AbstractEventLoop, app: TestApp) -> None:
        self._loop, self._app = loop, app

    def ask(self, method: str, path: str, body: object = None, token: str | None = None) -> httpx.Response:
        asking = self._app.client.request(method, path, json=body, headers=_bearer(token))
        return self._loop.run_until_complete(asking)


HOME = next(cycle(ADDRESSES))
"""Of everybody: failed logins are counted per network."""


def _bearer(token: str | None) -> dict[str, str]:
    return {} if token is None else {"Authorization": f"Bearer {token}"}


@contextmanager
def memory_clients() -> Iterator[list[ServiceClient]]:
    loop = asyncio.new_event_loop()
    app = loop.run_until_complete(open_test_app(counts_limits=False))
    try:
        yield [MemoryClient(loop, app)]
    finally:
        loop.run_until_complete(app.client.aclose())
        loop.close()


@contextmanager
def process_clients(urls: list[str]) -> Iterator[list[ServiceClient]]:
    clients = [httpx.Client(base_url=url, timeout=HUNG_AFTER) for url in urls]
    try:
        yield [ProcessClient(client) for client in clients]
    finally:
        for client in clients:
            client.close()
